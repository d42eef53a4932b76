"""The rows of an organization: its people, its customers, and what it records about them."""

from workspace.models.activity import (
    Event,
    KpiChange,
    KpiSnapshot,
)
from workspace.models.columns import (
    Account,
    RenewalStatus,
    Term,
)
from workspace.models.conversations import (
    BAD_MOODS,
    BADNESS,
    Conversation,
    ConversationMessage,
    ConversationOutcome,
    Feedback,
    GivenBy,
    Mode,
    Mood,
    Rating,
)
from workspace.models.customers import (
    STARTED,
    Company,
    Customer,
    Lead,
    LeadStatus,
    Lifecycle,
    new_customer_id,
)
from workspace.models.demo import (
    DemoSeed,
)
from workspace.models.imports import (
    DataImport,
    ImportKind,
    ImportMapping,
    ImportStatus,
)
from workspace.models.joins import (
    AliasKind,
    CustomerAlias,
    Join,
    JoinOrigin,
    JoinRule,
)
from workspace.models.knowledge import (
    KnowledgeChunk,
    KnowledgeIndex,
    KnowledgePage,
    KnowledgeSource,
    PageState,
    SourceKind,
    SourceStatus,
)
from workspace.models.messages import (
    AuthorKind,
)
from workspace.models.outgoing_mail import (
    MailKind,
    MailState,
    OutgoingMail,
)
from workspace.models.page_jobs import (
    PageJob,
)
from workspace.models.people import (
    ACTIVE_MEMBERSHIP,
    Agent,
    AgentKind,
    FeatureFlag,
    Membership,
    Organization,
    Role,
    User,
    UserManager,
    row_key,
)
from workspace.models.privacy import (
    ErasedName,
    Erasure,
)
from workspace.models.support import (
    UNRESOLVED,
    Ticket,
    TicketMessage,
    TicketPriority,
    TicketStatus,
)

__all__ = [
    "ACTIVE_MEMBERSHIP",
    "BADNESS",
    "BAD_MOODS",
    "STARTED",
    "UNRESOLVED",
    "Account",
    "Agent",
    "AgentKind",
    "AliasKind",
    "AuthorKind",
    "Company",
    "Conversation",
    "ConversationMessage",
    "ConversationOutcome",
    "Customer",
    "CustomerAlias",
    "DataImport",
    "DemoSeed",
    "ErasedName",
    "Erasure",
    "Event",
    "FeatureFlag",
    "Feedback",
    "GivenBy",
    "ImportKind",
    "ImportMapping",
    "ImportStatus",
    "Join",
    "JoinOrigin",
    "JoinRule",
    "KnowledgeChunk",
    "KnowledgeIndex",
    "KnowledgePage",
    "KnowledgeSource",
    "KpiChange",
    "KpiSnapshot",
    "Lead",
    "LeadStatus",
    "Lifecycle",
    "MailKind",
    "MailState",
    "Membership",
    "Mode",
    "Mood",
    "Organization",
    "OutgoingMail",
    "PageJob",
    "PageState",
    "Rating",
    "RenewalStatus",
    "Role",
    "SourceKind",
    "SourceStatus",
    "Term",
    "Ticket",
    "TicketMessage",
    "TicketPriority",
    "TicketStatus",
    "User",
    "UserManager",
    "new_customer_id",
    "row_key",
]
