"""Prints the result of each task on each host as one line of JSON."""

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: ccm_push
type: stdout
short_description: results as lines of JSON
description: Prints the result of each task on each host as one line of JSON.
"""

KEYS = ("path", "dest", "name", "pkg", "package", "unit")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "ccm_push"

    def _print(self, status, result):
        task, values = result._task, {}
        invocation = (result._result.get("invocation") or {}).get("module_args") or {}
        for source in (task.args, invocation, result._result):
            for key in KEYS:
                value = source.get(key)
                if value and "{{" not in str(value):
                    values[key] = value if isinstance(value, list) else [value]
        if status == "ok" and result._result.get("changed"):
            status = "changed"
        message = str(result._result.get("msg", "")) if status == "failed" else ""
        line = dict(
            host=result._host.get_name(), module=task.action.split(".")[-1], task=task.get_name(), at=task.get_path() or "",
            status=status, values=values, message="" if task.no_log else message[:500],
        )
        self._display.display(json.dumps(line, default=str))

    def _whole(self, status, result):
        if not result._task.loop:
            self._print(status, result)

    def v2_runner_on_ok(self, result):
        self._whole("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._whole("failed", result)

    def v2_runner_on_skipped(self, result):
        self._whole("skipped", result)

    def v2_runner_on_unreachable(self, result):
        self._print("unreachable", result)

    def v2_runner_item_on_ok(self, result):
        self._print("ok", result)

    def v2_runner_item_on_failed(self, result):
        self._print("failed", result)

    def v2_runner_item_on_skipped(self, result):
        self._print("skipped", result)
