"""An answer inside a widget, while it comes: finished pieces that never change again, and a live end.

What must live here: the sink of a panel. A frame costs what its live end costs, however long the answer is; a front end
paints only that.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.drawing import Drawing
from llmneutral_widgets.exchange import Exchange, error_record
from llmneutral_widgets.scrub import Secrets, current_secrets, plain
from llmneutral_widgets.segments import Segments
from llmneutral_widgets.sinks import Clock, Progress, Throttle
from llmneutral_widgets.views.answer import SECTIONS, answer_block, error_body, exchange_body, frame_body, maker
from llmneutral_widgets.views.blocks import prose
from llmneutral_widgets.views.page import Html, Room, fitted, part, tag
from llmneutral_widgets.views.pictures import Album

HZ = 20
"""Frames a second, at most."""
WHOLE = 12_000
"""Characters of an answer that is painted once more as a whole when it has ended; a longer one keeps its pieces."""
_GROUP = 32
"""Pieces in one box: a box tells all its children when it gets a new one."""
_ROOM = 100_000
_WIDE = {"width": "auto", "margin": "0"}


class PanelSink(Drawing):
    """Shows an answer in a box of a panel; any thread may push to it. What comes after the end is ignored.

    Args:
        box: A VBox that is the answer's alone.
        now: The clock, in seconds.
    """

    def __init__(self, box: Any, now: Clock = perf_counter) -> None:
        import ipywidgets

        self.box = box
        self._lock = threading.RLock()
        self._throttle = Throttle(HZ, now=now)
        self._progress = Progress({}, Secrets())
        self._text = Segments()
        self._is_over = False
        # Formulas are set once, when a piece is finished; with every frame they would cost more than all else.
        self._above, self._end = ipywidgets.HTML(layout=_WIDE), ipywidgets.HTML(layout=_WIDE)
        self._groups: list[Any] = []
        self._shared: dict[str, Any] = {}

    def _start(self, request: Mapping[str, Any]) -> None:
        with self._lock:
            secrets = current_secrets()
            self._progress = Progress(request, secrets)
            self._begin_text()
            self._show()

    def _push(self, delta: Any) -> None:
        with self._lock:
            if self._is_over:
                return
            before = self._progress.number_of_rounds
            self._progress.add(delta)
            # Calls were run, and another answer comes: this one stands above now. Or it did not fit its form, and goes.
            if self._progress.number_of_rounds > before or delta.kind == "repair":
                self._begin_text()
            if delta.kind in ("text", "refusal"):
                self._text.add(delta.content.text or "")
            if self._throttle.is_due():
                self._throttle.shown()  # one that fails is not tried again before the next is due
                self._show()

    def _finish(self, exchange: Exchange) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            record = exchange.to_json()
            blocks = [str(block.get("type")) for block in (record["response"] or {}).get("blocks") or ()]
            if self._text.seen > WHOLE and blocks.count("text") == 1 and not record["rounds"]:
                self._keep_pieces(record)
            else:
                self._replace(self._fitted(record))

    def _abort(self, exchange: Exchange | None, error: BaseException) -> None:
        if exchange is not None:
            self._finish(exchange)
            return
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._replace(_body(error_body(plain(error_record(error)))))

    def _tell(self, bundle: Bundle) -> None:
        with self._lock:
            self._replace(_body(tag("pre", bundle.data["text/plain"])))

    # ------------------------------------------------------------------------------------------------------------------

    def _begin_text(self) -> None:
        """Shows nothing of a text."""
        import ipywidgets

        secrets, gone = current_secrets(), [*self._groups]
        self._text, self._groups = Segments(secrets.text, secrets.held), []
        self._arrange()
        self._dispose(gone)
        # What the pieces share: each of their own would be two more models in the front end.
        self._shared = {"layout": ipywidgets.Layout(**_WIDE), "style": ipywidgets.HTMLMath.style.klass()}

    def _keep_pieces(self, record: Mapping[str, Any]) -> None:
        """Ends a long answer: its pieces stay, what else there is comes above and below."""
        pieces, end = self._freeze(), self._text.end(is_last=True)
        self._add([*pieces, self._prose(end.shown)])
        blocks = record["response"]["blocks"]
        thoughts = [answer_block(block, Room(_ROOM), Album(0)) for block in blocks if block.get("type") == "thinking"]
        self._above.value = _body(tag("div", *thoughts, class_="answer")) if thoughts else ""
        rest = [block for block in blocks if block.get("type") not in ("text", "thinking")]
        below = self._fitted({**record, "response": {**record["response"], "blocks": rest}})
        gone, self._end = self._end, self._piece(below)
        self._arrange()
        dispose(gone)

    def _replace(self, html: str) -> None:
        """Ends an answer: all there was is replaced by the whole."""
        import ipywidgets

        gone = [*self._groups, self._end]
        self._above.value, self._groups = "", []
        self._end = ipywidgets.HTMLMath(html, layout=_WIDE)
        self._arrange()
        self._dispose(gone)

    def _dispose(self, gone: list[Any]) -> None:
        """Closes what is shown no more, and what its pieces shared."""
        dispose(*gone)
        for shared in self._shared.values():
            shared.close()

    def _show(self) -> None:
        """Shows a frame: new finished pieces, and the live end."""
        if new := self._freeze():
            self._add(new)
            self._arrange()
        progress = self._progress
        above = _body(progress.above(is_open=not self._text.seen))
        if self._above.value != above:
            self._above.value = above
        calls = progress.calls()
        text = self._text.end().shown
        self._end.value = _body(frame_body(maker(progress.request), thinking=(0, ""), answer=(text, 0), calls=calls))
        self._throttle.shown(len(self._end.value))

    def _freeze(self) -> list[Any]:
        return [self._prose(segment.shown) for segment in self._text.finished()]

    def _prose(self, text: str) -> Any:
        return self._piece(_body(tag("div", prose(text, Room(_ROOM)), class_="answer")))

    def _add(self, pieces: list[Any]) -> None:
        import ipywidgets

        for piece in pieces:
            if not self._groups or len(self._groups[-1].children) >= _GROUP:
                self._groups.append(ipywidgets.VBox(layout=self._shared["layout"]))
            self._groups[-1].children = [*self._groups[-1].children, piece]

    def _arrange(self) -> None:
        children = [self._above, *self._groups, self._end]
        if [*self.box.children] != children:
            self.box.children = children

    def _piece(self, html: str) -> Any:
        import ipywidgets

        return ipywidgets.HTMLMath(html, **self._shared)

    def _fitted(self, record: Mapping[str, Any]) -> str:
        return str(
            fitted(lambda most: part(exchange_body(record, Room(most), limits.current().album()), sections=SECTIONS))
        )


def dispose(*widgets: Any) -> None:
    """Closes widgets with all that is in them: the kernel, and the front end, keep what is not closed."""
    for widget in widgets:
        dispose(*getattr(widget, "children", ()))
        for each in (getattr(widget, "style", None), widget.layout, widget):
            if each is not None:
                each.close()


def _body(body: Html) -> str:
    return str(part(body, sections=SECTIONS)) if body else ""
