"""What users of such tools have asked for in public threads, and the tests that prove that it is here.

Each requirement has the public threads that it is from, and names tests as `module::test`, relative to `tests/`; or it
says why it needs none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

TESTS = Path(__file__).parents[1]


class Requirement(msgspec.Struct, frozen=True):
    """One of them.

    Attributes:
        number: In the order in which they were collected.
        about: What part of the notebook it is about.
        wish: What is wanted.
        source: The public threads.
        tests: What proves it.
        reason: Why no test can; "" where there are tests.
    """

    number: int
    about: str
    wish: str
    source: str
    tests: tuple[str, ...] = ()
    reason: str = ""


@cache
def found_in(module: str) -> frozenset[str]:
    """The tests of a module."""
    tree = ast.parse((TESTS / module).with_suffix(".py").read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def skipped(module: str) -> Iterator[str]:
    """The tests of a module that are always left out."""
    source = (TESTS / module).with_suffix(".py").read_text("utf-8")
    yield from re.findall(r"@pytest\.mark\.(?:skip|xfail)\b[^\n]*\n(?:async )?def (\w+)", source)


def test_all_of_them_are_here() -> None:
    assert [each.number for each in REQUIREMENTS] == list(range(1, 70))
    assert all(each.wish and each.source and each.about for each in REQUIREMENTS)


# ----------------------------------------------------------------------------------------------------------------------
# The table

R = Requirement
REQUIREMENTS = (
    R(1, "Invocation", "no mandatory argument", "jupyter-ai#1450",
      ("widgets/lines/test_options::test_nothing_is_mandatory",
       "widgets/magics/test_magics::test_config_says_who_is_asked_how_much_is_sent_and_how")),
    R(2, "Invocation", "unknown provider: one line with the valid ones", "jupyter-ai PR#1457",
      ("widgets/magics/test_prompting::test_what_cannot_be_meant_is_one_line_and_fails_the_cell",
       "widgets/test_providers::test_mistakes")),
    R(3, "Invocation", "sampling flags and pass-through", "jupyter-ai#121, #1452, #1061",
      ("widgets/magics/test_prompting::test_what_goes_out_is_what_the_line_says",
       "widgets/magics/test_magics_answers::test_what_only_one_provider_knows_passes_through")),
    R(4, "Invocation", "named presets in a config file", "jupyter-ai docs",
      ("widgets/magics/test_loading::test_a_config_file_names_presets_and_defaults",
       "widgets/magics/test_magics::test_presets_are_names_for_p")),
    R(5, "Invocation", "TAB for names, flags, providers, models", "holoviews#256, ipython#11913",
      ("widgets/magics/test_completion::test_exactly_this_is_offered",
       "widgets/magics/test_completion::test_every_api_and_every_provider_is_offered",
       "widgets/magics/test_prompting::test_tab")),
    R(6, "Invocation", "defaults by %config", "jupyter-ai docs",
      ("widgets/magics/test_magics::test_config_says_who_is_asked_how_much_is_sent_and_how",)),
    R(7, "Invocation", "loading prints and changes nothing", "jupyter-ai PR#34",
      ("widgets/magics/test_loading::test_loading_is_quick_silent_and_light",)),
    R(8, "Invocation", "reload and unload restore", "better-exceptions#168",
      ("widgets/magics/test_loading::test_load_reload_unload_load_leaves_one_of_each_and_then_none",
       "widgets/magics/test_loading::test_unloading_what_was_used_leaves_nothing_either")),
    R(9, "Invocation", "kernel-only: remote kernels, VS Code, Colab", "jupyter-ai#1244",
      ("widgets/magics/test_loading::test_it_lives_in_the_kernel_alone",
       "widgets/magics/test_prompting::test_an_answer_is_one_output_that_grows_and_is_saved_whole")),
    R(10, "Invocation", "no version coupling with a server part", "jupyter-ai#1528",
      ("widgets/magics/test_loading::test_it_lives_in_the_kernel_alone",)),
    R(11, "Invocation", "help with examples in one place", "jupyter-ai#1450",
      ("widgets/magics/test_magics::test_help_shows_every_option",
       "widgets/lines/test_options::test_help_tells_every_option")),
    R(12, "Interpolation", "single braces literal", "jupyter-ai#27, #967; langchain#700; inspect_ai#580",
      ("widgets/lines/test_interpolation::test_text",
       "widgets/lines/test_interpolation::test_what_has_no_braces_is_left_alone",
       "widgets/magics/test_magics::test_the_text_stays_as_it_is_typed")),
    R(13, "Interpolation", "explicit {{name}}", "libro#263",
      ("widgets/lines/test_interpolation::test_text", "widgets/lines/test_interpolation::test_objects_stand_in_place")),
    R(14, "Interpolation", "inserted text not expanded again", "jupyter-ai PR#1260",
      ("widgets/lines/test_interpolation::test_text",)),
    R(15, "Interpolation", "undefined names are errors", "inspect_ai#580",
      ("widgets/lines/test_interpolation::test_every_undefined_name_is_named_with_the_nearest",)),
    R(16, "Interpolation", "a switch to turn it off", "pyinstrument#277",
      ("widgets/magics/test_magics::test_variables_are_put_in_and_left_out_on_request",)),
    R(17, "Interpolation", "In, Out, last error, DataFrame with cap", "jupyter-ai#62, PR#170; colabtools#3803",
      ("widgets/lines/test_interpolation::test_text", "widgets/lines/test_interpolation::test_tables",
       "widgets/magics/test_magics::test_the_last_error_can_be_asked_about")),
    R(18, "Interpolation", "dry run shows prompt and payloads", "jupyter-ai#282",
      ("widgets/magics/test_magics::test_a_dry_run_sends_nothing_needs_no_key_and_keeps_nothing",
       "widgets/magics/test_magics::test_a_terminal_prints_prompt_payload_and_changes")),
    R(19, "Streaming", "by default", "jupyter-ai#960, libro#272",
      ("widgets/magics/test_prompting::test_what_goes_out_is_what_the_line_says",)),
    R(20, "Streaming", "deltas, not the whole text again", "marimo#7259, jupyter-chat#52, ipywidgets#2385",
      ("widgets/test_sinks::test_a_long_answer_costs_what_a_window_costs",
       "widgets/test_panel_sink::test_a_long_answer_costs_what_it_is_long",
       "widgets/magics/test_prompting::test_two_thousand_deltas_stay_within_the_budget")),
    R(21, "Streaming", "throttled", "vscodenpa/testissues#8275",
      ("widgets/test_sinks::test_frames_are_paced_and_deltas_are_not", "widgets/test_sinks::test_the_budget",
       "widgets/test_kernel::test_the_budget_on_the_socket_and_one_saved_output")),
    R(22, "Streaming", "no Output.append_*", "ironflow#179, anywidget#542",
      ("widgets/test_display::test_nothing_appends_to_an_output_and_nothing_runs_a_loop",)),
    R(23, "Streaming", "no flicker or jumping", "vscode#132143, vscode-jupyter#7392",
      ("widgets/test_sinks::test_one_output_a_last_frame_and_the_whole",
       "widgets/test_panel_sink::test_finished_pieces_never_change_again")),
    R(24, "Streaming", "a fresh display id per run",
      "vscode-jupyter#12755, #13105; nteract#1447; positron#6915",
      ("widgets/test_display::test_every_output_has_an_id_of_its_own",
       "widgets/test_kernel::test_the_budget_on_the_socket_and_one_saved_output")),
    R(25, "Streaming", "readable later without a kernel", "ipywidgets#2063, #318, #2126",
      ("notebooks/test_lessons::test_every_output_can_be_read_without_a_kernel_and_fetches_nothing",
       "browser/test_panels::test_what_is_saved_is_what_was_shown_and_stays_when_the_kernel_has_gone")),
    R(26, "Streaming", "--no-stream and automatic fallback", "OpenChatKit#75",
      ("widgets/magics/test_prompting::test_a_whole_answer_on_request",
       "drivers/test_template::test_a_driver_that_cannot_stream_gives_all_at_once")),
    R(27, "Streaming", "thinking foldable, closed when done", "chatlas",
      ("widgets/test_sinks::test_thinking_is_open_until_the_answer_begins",
       "widgets/test_panel_sink::test_thinking_is_open_until_the_answer_begins",
       "widgets/views/test_answer::test_parts_stand_in_order")),
    R(28, "Streaming", "terminals print once", "measured",
      ("widgets/test_sinks::test_a_terminal_prints_once",
       "widgets/magics/test_magics::test_a_terminal_prints_the_answer_once",
       "widgets/test_terminal::test_every_change_is_shown_with_the_payload")),
    R(29, "Streaming", "first-token time and speed shown", "chatlas",
      ("widgets/views/test_answer::test_the_footer", "widgets/views/test_usage::test_speed")),
    R(30, "Interrupt", "closes the HTTP stream, keeps the part, marks it", "shell_gpt#521, AICodeBot#28, aiproxy#5",
      ("widgets/magics/test_prompting::test_an_interrupt_ends_the_cell_closes_the_stream_and_keeps_what_had_come",
       "widgets/test_tool_rounds::test_an_interrupt_while_it_is_shown_keeps_what_had_come")),
    R(31, "Interrupt", "cancels queued cells", "jupyterlab#17504",
      ("widgets/magics/test_prompting::test_cells_that_wait_are_not_run_after_an_interrupt",)),
    R(32, "Interrupt", "usage of an aborted call unknown, not 0", "openai-openapi#539",
      ("widgets/magics/test_prompting::test_an_interrupt_ends_the_cell_closes_the_stream_and_keeps_what_had_come",
       "widgets/magics/test_magics_others::test_usage_is_a_table_and_a_frame")),
    R(33, "Interrupt", "Stop only where it works", "vscode-jupyter#17360",
      ("widgets/panels/test_conversation::test_stop_keeps_what_has_come_though_the_provider_is_silent",
       "browser/test_panels::test_stop_keeps_what_has_come")),
    R(34, "Interrupt", "CancelledError alike", "measured",
      ("widgets/test_display::test_a_cancelled_async_stream_is_interrupted",)),
    R(35, "Interrupt", "interrupting does not end the conversation", "llm#1224",
      ("widgets/magics/test_prompting::test_what_was_interrupted_goes_along_with_the_next_question",
       "widgets/magics/test_magics_answers::test_an_interrupted_tool_ends_the_cell_and_is_kept")),
    R(36, "Keys", "from environment, .env, getpass; never on the line", "CoursIA#3911",
      ("widgets/magics/test_magics_answers::test_a_key_that_comes_into_the_environment_counts_at_once",
       "widgets/magics/test_magics_others::test_keys_are_taken_from_a_file_when_it_is_asked_for",
       "widgets/test_env_files::test_nothing_but_keys_is_taken",
       "widgets/magics/test_magics_others::test_a_key_is_asked_for_and_never_shown",
       "widgets/lines/test_options::test_no_error_repeats_a_key")),
    R(37, "Keys", "only set / not set", "CoursIA#3936",
      ("widgets/magics/test_magics_others::test_provider_lists_all_and_shows_no_key",)),
    R(38, "Keys", "reprs redact", "haystack#11808, wetterdienst#1920",
      ("configs/test_base::test_no_repr_holds_a_secret", "drivers/test_call::test_no_delta_and_no_repr_holds_the_key",
       "drivers/test_keys::test_a_key_shows_only_whether_it_is_there")),
    R(39, "Keys", "payloads, tracebacks, files hold none", "OpenBench#30, CoursIA#3125",
      ("widgets/magics/test_prompting::test_no_secret_is_shown_or_saved",
       "widgets/magics/test_keeping::test_no_key_is_saved",
       "widgets/panels/test_hostile::test_secrets_in_every_field")),
    R(40, "Keys", "auth errors name the variable", "jupyter-ai PR#513",
      ("drivers/test_http_answers::test_an_error_names_the_variable_of_its_key",
       "widgets/magics/test_prompting::test_a_missing_key_says_which_variable_and_keeps_nothing",
       "widgets/magics/test_magics_answers::test_a_missing_key_of_one_of_several_says_what_helps")),
    R(41, "Keys", "a new key without restart, no silent override", "jupyter-ai-magic-commands 0.0.4",
      ("widgets/magics/test_magics_answers::test_a_key_that_comes_into_the_environment_counts_at_once",
       "drivers/test_keys::test_the_given_key_comes_first_then_the_variables_in_their_order")),
    R(42, "Errors", "short tracebacks, long on request", "ipython PR#2223, jupyter-ai#1244",
      ("errors/test_errors::test_a_notebook_shows_four_lines_at_most_and_no_secret",
       "widgets/magics/test_prompting::test_a_provider_that_fails_fails_the_cell_in_one_line",
       "widgets/magics/test_magics_answers::test_all_frames_are_shown_on_request")),
    R(43, "Errors", "a failed call is a failed cell", "jupyter-ai returns text instead",
      ("widgets/magics/test_prompting::test_a_provider_that_fails_fails_the_cell_in_one_line",
       "widgets/magics/test_prompting::test_one_of_several_that_fails_fails_the_cell_after_the_others_have_answered")),
    R(44, "Errors", "status, request id, path, hint", "public reports of providers' 400s",
      ("widgets/views/test_answer::test_an_error_is_three_lines",
       "errors/test_errors::test_attributes_are_what_was_given")),
    R(45, "Errors", "reprs never raise", "measured",
      ("widgets/test_bundles::test_nothing_is_raised", "widgets/test_bundles::test_what_failed_is_said")),
    R(46, "Errors", "callback errors seen in the panel", "ipykernel#1564, jupyterlab#3151, ipywidgets#2380",
      ("widgets/panels/test_base::test_what_a_callback_fails_with_is_told_without_secrets_and_forgotten_when_it_goes_well",
       "widgets/panels/test_choosing::test_what_fails_is_told_in_the_widget_and_nowhere_else")),
    R(47, "History", "says what context is sent", "jupyter-ai#783, #392",
      ("widgets/views/test_answer::test_the_footer",
       "widgets/magics/test_magics::test_earlier_messages_go_along_as_far_as_the_line_says")),
    R(48, "History", "--new, --history N, 0 is none", "jupyter-ai#814, PR#997",
      ("widgets/magics/test_magics::test_earlier_messages_go_along_as_far_as_the_line_says",
       "widgets/test_session::test_the_last_exchanges_are_the_end_of_all_of_them")),
    R(49, "History", "reset, list, inspect", "jupyter-ai#616",
      ("widgets/magics/test_magics_others::test_stack_shows_names_drops_and_keeps",)),
    R(50, "History", "changing provider keeps the conversation", "jupyter-ai#716",
      ("widgets/magics/test_magics_answers::test_a_conversation_goes_on_with_another_provider",)),
    R(51, "History", "re-running replaces", "biochatter#98, opentrace#325",
      ("widgets/magics/test_prompting::test_running_a_cell_again_replaces_its_exchange_and_marks_what_follows",
       "widgets/test_session::test_a_cell_that_asks_again_sends_what_stands_before_it")),
    R(52, "History", "a whole notebook as conversation", "jupyter-ai#972",
      ("widgets/ipynb/test_transcribing::test_markdown_code_and_outputs",
       "widgets/ipynb/test_transcribing::test_cells_that_asked_bring_the_real_messages")),
    R(53, "History", "several named ones", "jupyter-ai#813",
      ("widgets/magics/test_magics_others::test_stack_shows_names_drops_and_keeps",
       "widgets/magics/test_keeping::test_of_several_conversations_the_one_of_the_same_name_is_loaded")),
    R(54, "Results", "-o NAME, _, Out[n] are the object", "jupyter-ai#603, libro#52",
      ("widgets/magics/test_magics_answers::test_the_result_is_the_object_wherever_it_is_looked_for",
       "widgets/magics/test_magics::test_out_binds_the_result_even_where_the_cell_fails")),
    R(55, "Results", "it has text, message, usage, payload, stack, notebook", "jupyter-ai#603, #282",
      ("widgets/test_exchange::test_what_it_offers",
       "widgets/test_asking::test_an_answer_is_an_exchange_with_everything",
       "widgets/ipynb/test_exports::test_an_exchange_makes_a_notebook_of_what_was_sent")),
    R(56, "Results", "code into a clean cell only on request, never run", "jupyter-ai#43, PR#57; mito#2076",
      ("widgets/magics/test_magics::test_code_is_proposed_for_a_new_cell_and_never_run",)),
    R(57, "Results", "json validates, shows the raw text when it fails", "jupyter-ai",
      ("widgets/magics/test_magics::test_no_json_says_why_and_shows_the_text",
       "widgets/magics/test_formats::test_json_is_the_value_or_the_reason")),
    R(58, "Results", "the output records provider, model, settings, usage, time", "jupyter-ai#282",
      ("widgets/test_exchange::test_every_key_is_there_and_it_is_json",
       "widgets/test_asking::test_an_answer_is_an_exchange_with_everything")),
    R(59, "Usage", "a line per answer, a table on demand", "llm#625, ellmer#203, faststream-gen#40",
      ("widgets/views/test_answer::test_the_footer",
       "widgets/magics/test_magics_others::test_usage_is_a_table_and_a_frame",
       "widgets/test_tool_rounds::test_every_answer_is_a_call_with_its_own_tokens")),
    R(60, "Usage", "unknown cost n/a, own price table", "ellmer PR#418, chatlas PR#106",
      ("widgets/magics/test_magics_answers::test_a_cost_comes_from_prices_of_ones_own",
       "widgets/views/test_answer::test_what_is_unknown_is_never_zero",
       "widgets/test_pricing::test_what_nobody_knows_stays_unknown")),
    R(61, "Usage", "cached, cache-write, reasoning apart", "chatlas#133, lisette",
      ("widgets/views/test_answer::test_what_the_footer_says", "widgets/test_tables::test_columns_and_types")),
    R(62, "Display", "dark themes", "pandas#46984, datajoint#1167, mystmd#1595",
      ("widgets/views/test_look::test_every_text_can_be_read",)),
    R(63, "Display", "$ survives", "claude-code#33620, NextChat#3237",
      ("widgets/views/test_markdown::test_dollars",
       "widgets/views/test_page::test_dollars_and_backslashes_start_no_formula")),
    R(64, "Display", "no CDN", "itables#70, PR#77, #441; nbconvert#754; vscode-jupyter#14761, #16978",
      ("notebooks/test_lessons::test_as_a_page_it_runs_no_script_and_fetches_nothing_of_its_own",
       "widgets/views/test_hostile::test_as_it_is",
       "browser/test_panels::test_all_six_paint_without_an_error_and_stay_on_this_machine")),
    R(65, "Display", "names, keyboard, live region", "ipywidgets#2650, #3954",
      ("widgets/panels/test_base::test_controls_have_names",
       "widgets/panels/test_base::test_every_one_has_a_status_line_that_is_read_aloud",
       "widgets/panels/test_conversation::test_what_is_read_and_reached_by_tab_is_in_order_and_has_names")),
    R(66, "Display", "always text/plain", "colabtools#322, nbdev#169",
      ("widgets/test_bundles::test_html_and_plain_text", "widgets/test_display::test_a_value_is_shown",
       "widgets/test_bundles::test_what_is_printed_is_more_than_what_is_saved_as_text")),
    R(67, "Export and async", "to .ipynb and .md, exchanges back from a file",
      "jupyter-ai#460, #805; Wolfram Chatbook#250; nbdev#1442; unsloth#7662",
      ("widgets/ipynb/test_exports::test_exchanges_come_back_as_they_were",
       "widgets/magics/test_keeping::test_a_notebook_goes_on_where_the_session_was",
       "widgets/magics/test_magics_others::test_stack_shows_names_drops_and_keeps",
       "widgets/ipynb/test_extraction::test_the_stack_that_was_sent_comes_back_from_the_chain")),
    R(68, "Export and async", "sync calls inside the running loop",
      "pydantic-ai#144, #3014; openai-agents-python#77; llama_deploy#162",
      ("widgets/magics/test_magics_answers::test_calls_of_sync_code_work_inside_the_running_loop_of_a_kernel",
       "widgets/magics/test_prompting::test_an_answer_is_one_output_that_grows_and_is_saved_whole")),
    R(69, "Export and async", "await for async; magics stay sync", "ipython#11314, #14157; fastcore#868",
      ("widgets/test_display::test_an_async_stream_is_awaited",
       "widgets/test_display::test_nothing_appends_to_an_output_and_nothing_runs_a_loop")),
)  # fmt: skip


@pytest.mark.parametrize("each", REQUIREMENTS, ids=lambda each: f"{each.number}-{each.wish}")
def test_it_is_proved(each: Requirement) -> None:
    assert bool(each.tests) != bool(each.reason), "tests, or a reason why there are none"
    for name in each.tests:
        module, _, test = name.partition("::")
        assert test in found_in(module), f"{name} is no test"
        assert test not in skipped(module), f"{name} is never run"


def test_a_test_that_is_not_there_would_be_noticed() -> None:
    assert "test_it_is_proved" in found_in("widgets/test_requirements")
    assert "test_of_nothing" not in found_in("widgets/test_requirements")
    with pytest.raises(AssertionError, match="is no test"):
        test_it_is_proved(Requirement(0, "a", "b", "c", ("widgets/test_requirements::test_of_nothing",)))
    with pytest.raises(AssertionError, match="tests, or a reason"):
        test_it_is_proved(Requirement(0, "a", "b", "c"))
