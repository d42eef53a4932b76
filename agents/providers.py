"""Language models of Anthropic and of OpenAI's API, over the model layer of pydantic-ai.

With `agents.provider_messages`, the only module that imports it. It takes a second or two to load,
so whoever needs a model imports it, in a thread. Nothing of a provider's error is shown or logged
but its kind and status: its body may quote keys and prompts.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

import httpx2
import structlog
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from agents import language_models, provider_messages
from agents.models import LanguageModel
from agents.models_port import (
    MICROS,
    Answered,
    ModelCompletion,
    ModelFailed,
    ModelRequest,
    ModelUsage,
)
from agents.protocol import compaction
from agents.protocol.events import DeltaEvent, StopReason
from foundation.json_text import dumps
from foundation.outbound.async_transport import GuardedTransport

log = structlog.get_logger(__name__)

ANTHROPIC_URL: Final = "https://api.anthropic.com"
OPENAI_URL: Final = "https://api.openai.com/v1"
# Of one read: a model that thinks sends something in between.
TIMEOUT: Final = httpx2.Timeout(90.0, connect=10.0)
# Requests that failed before their first piece are sent again after so many seconds.
WAITS: Final = (0.5, 2.0)
# Without one, the clients would look for a key of the server.
NO_KEY: Final = "none"
TEST_TOKENS: Final = 100
INCOMPLETE: Final = "The language model ended its response without a reason; it may be incomplete."
NO_ANSWER: Final = "The language model gave no usable response."
REASONS: Final = {
    "stop": StopReason.END_TURN,
    "tool_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.REFUSAL,
}
TEMPORARY: Final = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
)
# The first that fits; the others are NO_ANSWER.
MEANINGS: Final[tuple[tuple[type[Exception], str, StopReason], ...]] = (
    (exceptions.ContentFilterError, "The language model refused.", StopReason.REFUSAL),
    (
        exceptions.ModelContextWindowExceededError,
        "The session is too long for the language model.",
        StopReason.MAX_TOKENS,
    ),
    (
        exceptions.ModelAuthenticationError,
        "The provider refused the key of the language model.",
        StopReason.ERROR,
    ),
    (
        exceptions.ModelQuotaExceededError,
        "The quota of the language model is used up at its provider.",
        StopReason.ERROR,
    ),
    (
        exceptions.ModelNotFoundError,
        "The provider does not know the language model.",
        StopReason.ERROR,
    ),
    (
        exceptions.ModelRateLimitError,
        "The provider of the language model limits requests. Try again later.",
        StopReason.ERROR,
    ),
    (
        exceptions.ModelConnectionError,
        "The language model could not be reached.",
        StopReason.ERROR,
    ),
    (
        exceptions.ModelUnavailableError,
        "The language model is not available at the moment.",
        StopReason.ERROR,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvidedModel:
    """A model of a provider. A provider's client lives as long as one response."""

    name: str
    provider: str
    base_url: str
    key: str = field(repr=False)
    max_output_tokens: int
    input_price: Decimal | None
    output_price: Decimal | None

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        for wait in (*WAITS, None):
            is_answered = False
            try:
                async with aclosing(self._respond(request)) as pieces:
                    async for piece in pieces:
                        is_answered = True
                        yield piece
            except (exceptions.AgentRunError, httpx2.HTTPError) as error:
                if wait is None or is_answered or not isinstance(error, TEMPORARY):
                    raise _to_model_failure(error) from None
            else:
                return
            await asyncio.sleep(wait)

    async def _respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        transport = GuardedTransport(language_models.policy_for)
        # A redirect would take the key along.
        async with (
            httpx2.AsyncClient(
                transport=transport, timeout=TIMEOUT, follow_redirects=False, trust_env=False
            ) as client,
            model_request_stream(
                self._model(client),
                provider_messages.build_history(request, self._source),
                model_settings=self._settings(request),
                model_request_parameters=_parameters(request),
            ) as stream,
        ):
            async for event in stream:
                piece = _piece(event)
                if piece is not None:
                    yield piece
            yield self._complete(stream.get())

    def _model(self, client: httpx2.AsyncClient) -> ProviderModel:
        """The provider's client, which takes no key from its environment and repeats nothing."""
        if self.provider == LanguageModel.Provider.ANTHROPIC:
            anthropic = AsyncAnthropic(
                api_key=self.key or NO_KEY,
                base_url=self.base_url or ANTHROPIC_URL,
                http_client=client,
                max_retries=0,
            )
            return AnthropicModel(self.name, provider=AnthropicProvider(anthropic_client=anthropic))
        openai = AsyncOpenAI(
            api_key=self.key or NO_KEY,
            base_url=self.base_url or OPENAI_URL,
            http_client=client,
            max_retries=0,
        )
        return OpenAIChatModel(self.name, provider=OpenAIProvider(openai_client=openai))

    def _settings(self, request: ModelRequest) -> ModelSettings:
        settings = ModelSettings(max_tokens=self.max_output_tokens)
        if request.tools and not request.may_call:
            # Without the tools, providers refuse a history with calls.
            settings["tool_choice"] = "none"
        return settings

    def estimate_usage(self, request: ModelRequest, received: int) -> ModelUsage:
        schemas = [dumps(tool.input_schema).decode() for tool in request.tools]
        sent = sum(map(compaction.tokens, request.history)) + sum(
            map(compaction.count_tokens, [request.instructions, *schemas])
        )
        output = received // compaction.CHARACTERS_PER_TOKEN
        response = ModelResponse(
            parts=[],
            usage=RequestUsage(input_tokens=sent, output_tokens=output),
            model_name=self.name,
            provider_name=self.provider,
        )
        return ModelUsage(sent, output, self._cost(response), is_measured=False)

    @property
    def _source(self) -> str:
        return f"{self.provider} {self.base_url} {self.name}"

    def _complete(self, response: ModelResponse) -> ModelCompletion:
        if response.finish_reason is None:
            raise ModelFailed(INCOMPLETE)
        reason = REASONS.get(response.finish_reason)
        if reason is None:
            raise ModelFailed(NO_ANSWER)
        parts = response.parts
        if reason is not StopReason.TOOL_USE:
            # A call that the limit has cut is none. Some providers say "stop" with calls.
            has_calls = any(isinstance(part, ToolCallPart) for part in parts)
            if reason is StopReason.END_TURN and has_calls:
                reason = StopReason.TOOL_USE
            else:
                parts = [part for part in parts if not isinstance(part, ToolCallPart)]
        blocks, problems = provider_messages.blocks_of(parts)
        is_kept = len(parts) == len(response.parts) and not problems
        content: Any = blocks
        if len(blocks) == 1 and blocks[0]["type"] == "text":
            content = blocks[0]["text"]
        made = [block["toolCallId"] for block in blocks if block["type"] == "tool_use"]
        same = made == [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
        state = None
        if is_kept and same:
            state = {"source": self._source, "response": provider_messages.dump_response(response)}
        message = {"role": "assistant", "content": content or ""}
        return ModelCompletion(message, reason, self._usage(response), state, problems)

    def _usage(self, response: ModelResponse) -> ModelUsage:
        used = response.usage
        return ModelUsage(
            used.input_tokens,
            used.output_tokens,
            self._cost(response),
            is_measured=not used.unmeasured_requests,
        )

    def _cost(self, response: ModelResponse) -> int:
        """Millionths of a US dollar; 0 if no price is known."""
        used = response.usage
        if self.input_price is not None or self.output_price is not None:
            price = used.input_tokens * (self.input_price or 0)
            price += used.output_tokens * (self.output_price or 0)
            return int(price)  # the price of a million tokens is that of a token in millionths
        try:
            return int(response.cost().total_price * MICROS)
        except (LookupError, ValueError, AssertionError):
            return 0


def build_model(row: LanguageModel, key: str) -> ProvidedModel:
    """Returns a model that is used with this key."""
    return ProvidedModel(
        name=row.model,
        provider=row.provider,
        base_url=row.base_url,
        key=key,
        max_output_tokens=row.max_output_tokens,
        input_price=row.input_price,
        output_price=row.output_price,
    )


async def test_request(model: ProvidedModel) -> ModelUsage:
    """Asks a model for one word, and returns what it cost. Raises ModelFailed."""
    request = ModelRequest(
        instructions="",
        history=[{"role": "user", "content": "Answer with the word ready."}],
        states=[None],
        tools=(),
    )
    async with aclosing(replace(model, max_output_tokens=TEST_TOKENS).respond(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, ModelCompletion):
                return piece.usage
    raise ModelFailed(NO_ANSWER)


def _to_model_failure(error: Exception) -> ModelFailed:
    status = getattr(error, "status_code", None)
    log.warning("language_model_failed", kind=type(error).__name__, status=status)
    for kind, message, reason in MEANINGS:
        if isinstance(error, kind):
            return ModelFailed(message, reason)
    return ModelFailed(NO_ANSWER)


def _piece(event: Any) -> DeltaEvent | None:
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ):
            return DeltaEvent("text", text) if text else None
        case (
            PartStartEvent(part=ThinkingPart(content=text))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
        ):
            return DeltaEvent("thinking", text) if text else None
    return None


def _parameters(request: ModelRequest) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.input_schema),
            )
            for tool in request.tools
        ]
    )
