"""The admin pages of customers, what they did and wrote, imports and knowledge."""

from django.contrib import admin

from customers.administration.customers import CustomerAdmin
from customers.administration.imports import DataImportAdmin
from customers.administration.records.companies import CompanyAdmin, LeadAdmin
from customers.administration.records.conversations import ConversationAdmin, FeedbackAdmin
from customers.administration.records.events import EventAdmin
from customers.administration.records.joins import JoinAdmin
from customers.administration.records.tickets import TicketAdmin
from knowledge.administration import KnowledgeSourceAdmin
from workspace.models import (
    Company,
    Conversation,
    Customer,
    DataImport,
    Event,
    Feedback,
    Join,
    KnowledgeSource,
    Lead,
    Ticket,
)

admin.site.register(Company, CompanyAdmin)
admin.site.register(Customer, CustomerAdmin)
admin.site.register(Lead, LeadAdmin)
admin.site.register(Ticket, TicketAdmin)
admin.site.register(Conversation, ConversationAdmin)
admin.site.register(Feedback, FeedbackAdmin)
admin.site.register(Event, EventAdmin)
admin.site.register(Join, JoinAdmin)
admin.site.register(DataImport, DataImportAdmin)
admin.site.register(KnowledgeSource, KnowledgeSourceAdmin)
