"""Where lower floors' ports meet the upper floors that answer them; called once at start-up."""

from oauth import ports
from tools_registry.explainer import GateExplainer


def bind() -> None:
    ports.bind_scope_explainer(GateExplainer())
