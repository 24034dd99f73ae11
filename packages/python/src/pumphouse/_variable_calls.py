"""Calls about variables of the namespace."""

from typing import Any, Dict

from ._calls import delete_call, part_of
from ._http import Call, Response, answer_of, nothing
from .jobs import to_json


def list_variables() -> Call[Dict[str, Any]]:
    """All variables of the namespace: free names with JSON values, which the server only keeps."""
    return Call("GET", "variables", read_variables, repeatable=True)


def get_variable(name: str) -> Call[Any]:
    """The value of a variable.

    Raises:
        PumphouseError: ``variable_not_found``.
    """
    return Call("GET", path_of(name), read_variable, repeatable=True)


def set_variable(name: str, value: Any) -> Call[None]:
    """Creates or replaces a variable: any JSON, at most 4,096 bytes. The token needs the permission ``admin``."""
    return Call("PUT", path_of(name), nothing, to_json({"value": value}), True)


def delete_variable(name: str) -> Call[None]:
    """Deletes a variable. The token needs the permission ``admin``."""
    return delete_call(path_of(name))


def path_of(name: str) -> str:
    return f"variables/{part_of(name)}"


def read_variable(response: Response) -> Any:
    return answer_of(response)["value"]


def read_variables(response: Response) -> Dict[str, Any]:
    return {item["name"]: item["value"] for item in answer_of(response)["items"]}
