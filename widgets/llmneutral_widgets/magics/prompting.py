"""`%%prompt`: from its line and body to an answer that is shown, kept and returned.

What must live here: the order of things. Everything that can be wrong is looked at before the conversation is touched
and before anything is sent; what was sent is kept, however it ended; and only then an error goes on its way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from llmneutral_widgets import comparing, display
from llmneutral_widgets.asking import Outcome, Question, ask, ask_all
from llmneutral_widgets.bundles import Bundle, bundle_of, stack_bundle
from llmneutral_widgets.cells import RUNS, Key, number_of
from llmneutral_widgets.exchange import Exchange, Exchanges, new_id
from llmneutral_widgets.failures import presentable
from llmneutral_widgets.interrupts import is_pressed, let_go
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.lines.prompt_line import PROMPT, PromptLine, late_options, parse_prompt
from llmneutral_widgets.magics.composing import Composed, compose
from llmneutral_widgets.magics.formats import FormSink, first_code, formed
from llmneutral_widgets.notes import note
from llmneutral_widgets.providers import Asked
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.session import Conversation, Sent, Session
from llmneutral_widgets.sinks import CollectSink, Columns, Sink, TextSink
from llmneutral_widgets.views.page import visible

Answer = TypeVar("Answer", Exchange, Exchanges)


class Settings(msgspec.Struct, frozen=True):
    """What `%config PromptMagics` says.

    Attributes:
        provider: Who is asked where no `-p` says it; "" is what `Defaults` has.
        model: Another model where no `-m` says it; "" is the driver's.
        stream: Whether to stream where the line does not say it.
        history: How many earlier exchanges are sent where the line does not say it; None is all.
        plain: Whether answers are printed as text, as in terminals.
        tracebacks: `short` or `full`.
    """

    provider: str = ""
    model: str = ""
    stream: bool = True
    history: int | None = None
    plain: bool = False
    tracebacks: str = "short"


class Here(msgspec.Struct, frozen=True):
    """Where a magic runs: the shell, the session, the user's names, and the settings."""

    ip: Any
    session: Session
    namespace: Mapping[str, Any]
    settings: Settings = Settings()

    @property
    def is_rich(self) -> bool:
        """Whether outputs can be replaced here."""
        return display.has_kernel() and not self.settings.plain

    def publish(self, bundle: Bundle) -> None:
        """Shows a bundle; with `plain` its text alone, as answers are."""
        if self.settings.plain:
            display.print_out(bundle)
        else:
            display.publish(bundle)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a `%%prompt` means, with nothing done yet."""

    given: PromptLine
    composed: Composed
    conversation: Conversation
    key: Key | None
    sent: Sent
    stack: Any
    asked: tuple[Asked, ...]


def prompt(here: Here, line: str, cell: str | None) -> Exchange | Exchanges | None:
    """Does what a `%%prompt` or `%prompt` says.

    Args:
        here: Where it runs.
        line: What stands behind the magic's name.
        cell: The text below the line; None for `%prompt`.

    Returns:
        The exchange, or the exchanges where several were asked; None for `--help`.

    Raises:
        OptionError: If the line cannot be meant, or names what is not there.
        LLMNeutralError: If the question cannot be asked, or the provider failed.
        KeyboardInterrupt: If it was interrupted.
    """
    given = parse_prompt(line)
    if given.help:
        note(PROMPT.help(), as_typed=True)
        return None
    if late := late_options(given.text):
        note(f"{late} at the end is part of the question: options come first")
    _refuse_lone_name(here, given, line)
    plan = _plan(here, given, cell)
    is_asked = False
    try:
        if given.compare:
            return _bound(here, plan, _compare(here, plan))
        if given.dry_run:
            return _bound(here, plan, _dry(here, plan))
        if plan.sent.replaced:
            note("the system text of the conversation is replaced")
        for asked in plan.asked:
            here.session.providers.check_key(asked)
        is_asked = True
        return _several(here, plan) if len(plan.asked) > 1 else _single(here, plan)
    except Exception as error:
        here.session.providers.advise(error, plan.asked, is_asked=is_asked)
        _show_refused(here, plan, error)
        raise


def _refuse_lone_name(here: Here, given: PromptLine, line: str) -> None:
    """`-p openai anthropic Hi` would send the second name as part of the question, and nobody would notice."""
    word = next(iter(given.text.split()), "")
    if not word or "--" in line.split():
        return
    if given.providers and word.partition("/")[0] in here.session.providers.names():
        raise OptionError(f"{word} would be part of the question: write -p {word}, or -- before the question")
    if given.compare and comparing.is_api(word):
        together = ",".join([*given.compare, word])
        raise OptionError(
            f"{word} would be part of the question: write --compare {together}, or -- before the question"
        )


def _plan(here: Here, given: PromptLine, cell: str | None) -> Plan:
    """Looks at everything that can be wrong, and does nothing."""
    import llmneutral

    composed = compose(given, cell, here.namespace)
    if given.run_tools and not composed.tools:
        raise OptionError("--run-tools needs tools to run: -t NAME names one")
    conversation = here.session.conversation(given.stack)
    settings = here.settings
    is_real = not (given.compare or given.dry_run)
    key = RUNS.current.next_key(conversation.name) if is_real else None
    sent = conversation.plan(
        composed.question,
        key=key,
        system=composed.system,
        last=settings.history if given.history is None else given.history,
        new=given.new,
    )
    stack = llmneutral.PromptStack(
        sent.messages, **_frame({} if given.new else conversation.frame(), composed, given.settings)
    )
    model = given.model or settings.model or None
    providers = given.providers or (settings.provider or None,)
    asked = tuple([here.session.providers.asked(written, model, here.namespace) for written in providers])
    return Plan(given=given, composed=composed, conversation=conversation, key=key, sent=sent, stack=stack, asked=asked)


def _frame(kept: Mapping[str, Any], composed: Composed, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is sent beside the messages: that of a loaded stack, and the options of the line, which win over it."""
    own = {"tools": composed.tools, "output_schema": composed.output_schema}
    found = {**kept, **{name: value for name, value in own.items() if value is not None and value != ()}}
    found["settings"] = {**kept.get("settings", {}), **settings}
    if "extra_body" in settings:  # it is the user's own now, not that of the API a request was read from
        found["read_from"] = None
    return found


def _bound(here: Here, plan: Plan, result: Answer) -> Answer:
    """Binds the result to the variable that `-o` names."""
    if plan.given.out:
        here.ip.user_ns[plan.given.out] = result
    return result


# ----------------------------------------------------------------------------------------------------------------------
# Asking


def _is_streamed(here: Here, plan: Plan) -> bool:
    given, wanted = plan.given.stream, plan.stack.settings.get("stream")
    return given if given is not None else here.settings.stream if wanted is None else bool(wanted)


def _question(here: Here, plan: Plan, asked: Asked) -> Question:
    return Question(
        asked=asked,
        stack=plan.stack,
        sent=plan.sent,
        conversation=plan.conversation.name,
        cell_id=RUNS.current.cell_id,
        stream=_is_streamed(here, plan),
        run_tools=plan.given.run_tools,
        options=plan.given.options,
        prices=here.session.prices,
        execution_count=number_of(here.ip),
    )


def _sink(here: Here, given: PromptLine) -> Sink:
    if given.quiet:
        return CollectSink()
    if not here.is_rich:
        return TextSink()
    found = FormSink(display.publish)
    found.form = given.format
    return found


def _single(here: Here, plan: Plan) -> Exchange:
    outcome = ask(_question(here, plan, plan.asked[0]), _sink(here, plan.given))
    exchange = outcome.exchange
    if exchange is not None:
        here.session.record(plan.key, [exchange], new=plan.given.new)
        _bound(here, plan, exchange)
    let_go()
    if outcome.error is not None:
        raise _presentable(here, plan, outcome.error, [exchange])
    assert exchange is not None  # without an error there is one
    if plan.given.quiet:
        display.publish(formed(exchange, "line"))
    if plan.given.format == "code":
        _propose_code(here, exchange)
    return exchange


def _presentable(here: Here, plan: Plan, error: BaseException, exchanges: Sequence[Exchange | None]) -> BaseException:
    """An error as the cell shows it: what it left, and what went wrong, stands in the output already."""
    is_shown = here.is_rich and not plan.given.quiet
    kept = [exchange for exchange in exchanges if exchange is not None]
    has_come = any([bool(each.rounds or (each.response and each.response.message.content)) for each in kept])
    return presentable(error, here.settings.tracebacks, is_shown=is_shown, has_come=has_come)


def _propose_code(here: Here, exchange: Exchange) -> None:
    """Puts the first code of an answer into a new cell, where it can be read; it is never run from here."""
    code = first_code(visible(str(plain(exchange.text))))
    if code is None:
        note("the answer holds no fenced code")
    else:
        here.ip.set_next_input(code)


def _several(here: Here, plan: Plan) -> Exchanges:
    questions = [_question(here, plan, asked) for asked in plan.asked]
    interrupt: KeyboardInterrupt | None = None
    if here.is_rich and not plan.given.quiet:
        outcomes, interrupt = ask_all(questions, Columns(display.publish, len(questions)).sinks)
    elif plan.given.quiet:
        outcomes, interrupt = ask_all(questions, [CollectSink() for _ in questions])
    else:
        outcomes = _in_turn(questions)
        interrupt = next((o.error for o in outcomes if isinstance(o.error, KeyboardInterrupt)), None)
    exchanges = Exchanges([outcome.exchange for outcome in outcomes if outcome.exchange is not None])
    if exchanges:
        here.session.record(plan.key, exchanges, new=plan.given.new)
        _bound(here, plan, exchanges)
        if plan.given.quiet:
            display.publish(_lines(exchanges))
    let_go()
    error = interrupt or next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if error is not None:
        raise _presentable(here, plan, error, exchanges)
    return exchanges


def _in_turn(questions: list[Question]) -> list[Outcome]:
    """Asks one after another: a terminal cannot show several answers at once."""
    outcomes: list[Outcome] = []
    for question in questions:
        try:
            outcomes.append(ask(question, TextSink()))
            if is_pressed():
                outcomes[-1].error = KeyboardInterrupt()
        except Exception as error:  # noqa: BLE001  # the others are asked all the same; it is raised in the end
            outcomes.append(Outcome(None, error))
        if isinstance(outcomes[-1].error, KeyboardInterrupt):
            break
    return outcomes


def _lines(exchanges: Exchanges) -> Bundle:
    bundle = bundle_of(exchanges)
    shown = [formed(exchange, "line") for exchange in exchanges]
    html = "".join([each.data["text/html"] for each in shown])
    return Bundle({**bundle.data, "text/html": html, "text/plain": "\n".join([s.data["text/plain"] for s in shown])})


# ----------------------------------------------------------------------------------------------------------------------
# Not asking


def _compare(here: Here, plan: Plan) -> Exchange:
    asked = plan.asked[0]
    apis = comparing.apis_of(plan.given.compare)
    found = comparing.conversions(
        plan.stack, apis, here.session.providers, asked.driver, asked.model, stream=_is_streamed(here, plan)
    )
    return _show_dry(here, plan, found, comparing.two_meanings(plan.given.compare, here.session.providers))


def _dry(here: Here, plan: Plan) -> Exchange:
    found: dict[str, Any] = {}
    streamed = {"stream": True} if _is_streamed(here, plan) else {}
    for asked in plan.asked:
        told = asked.told()
        name = comparing.column_name(found, told["api"], told["provider"], told["model"])
        found[name] = asked.driver.preview(plan.stack, trace=True, **streamed, **plan.given.options, **asked.overrides)
    return _show_dry(here, plan, found)


def _show_dry(here: Here, plan: Plan, found: Mapping[str, Any], said: Sequence[str] = ()) -> Exchange:
    asked = plan.asked[0]
    exchange = comparing.dry_exchange(
        found,
        id=new_id(),
        parent=plan.sent.parent,
        cell_id=RUNS.current.cell_id,
        name=plan.conversation.name,
        **asked.told(),
        settings=plan.stack.settings,
        messages=plan.sent.added,
        history={"messages": plan.sent.earlier},
        stack=plan.stack,
        execution_count=number_of(here.ip),
    )
    here.publish(comparing.dry_bundle(exchange, found, said))
    return exchange


# ----------------------------------------------------------------------------------------------------------------------
# Errors


def _show_refused(here: Here, plan: Plan, error: Exception) -> None:
    """Shows the conversation with the blocks that cannot be sent marked in it, before the error itself is shown."""
    refs = [tuple(ref) for ref in getattr(error, "refs", None) or ()]
    if refs:
        here.publish(stack_bundle(plan.stack, bad=refs, name=plan.conversation.name))
