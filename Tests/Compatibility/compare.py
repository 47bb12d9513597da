"""Names every difference between two API descriptions that breaks a client of the older one.

python compare.py OLDER NEWER       exits with 1 if there are any
python compare.py --self-test OLDER exits with 1 if one of the breaking changes that it makes itself is not named

docs/compatibility.md has the rules.
"""

import copy
import sys

import yaml


class Comparison:
    def __init__(self, older, newer):
        self.older, self.newer = older, newer
        self.found = []
        self.compared = set()

    def breaks(self, place, what):
        text = f"{place}: {what}"
        if text not in self.found:
            self.found.append(text)

    @staticmethod
    def resolved(part, description):
        while isinstance(part, dict) and "$ref" in part:
            found = description
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found.get(name, {})
            part = found
        return part

    def both(self, older, newer):
        return self.resolved(older, self.older), self.resolved(newer, self.newer)

    def paths(self):
        for path, older in self.older["paths"].items():
            newer = self.newer["paths"].get(path)
            if newer is None:
                self.breaks(path, "the path is gone")
                continue
            for method in ("get", "post", "put", "patch", "delete"):
                if method not in older:
                    continue
                if method not in newer:
                    self.breaks(path, f"{method} is gone")
                    continue
                place = f"{method} {path}"
                self.operation(place, older[method], newer[method], older, newer)

    def operation(self, place, older, newer, older_path, newer_path):
        if older.get("operationId") != newer.get("operationId"):
            self.breaks(place, "the operationId has changed, by which generated functions are named")
        self.parameters(place, self.all_parameters(older, older_path, self.older),
                        self.all_parameters(newer, newer_path, self.newer))
        if newer.get("security") and not older.get("security"):
            self.breaks(place, "a token is needed")
        self.body(place, older.get("requestBody"), newer.get("requestBody"))
        for status, answer in older["responses"].items():
            if status not in newer["responses"]:
                self.breaks(place, f"status {status} is gone")
                continue
            before, after = self.both(answer, newer["responses"][status])
            self.answer(f"{place} {status}", before, after)

    def all_parameters(self, operation, path, description):
        every = path.get("parameters", []) + operation.get("parameters", [])
        every = [self.resolved(parameter, description) for parameter in every]
        return {(parameter["in"], parameter["name"]): parameter for parameter in every}

    def parameters(self, place, older, newer):
        for key, parameter in newer.items():
            if key not in older and parameter.get("required"):
                self.breaks(place, f"the {key[0]} parameter {key[1]} is needed")
        for key, parameter in older.items():
            name = f"{place}, {key[0]} parameter {key[1]}"
            if key not in newer:
                self.breaks(name, "is gone")
                continue
            if newer[key].get("required") and not parameter.get("required"):
                self.breaks(name, "is needed")
            self.schema(name, parameter.get("schema", {}), newer[key].get("schema", {}), is_sent=True)

    def body(self, place, older, newer):
        if not newer:
            if older:
                self.breaks(place, "the body is gone")
            return
        if not older:
            if newer.get("required"):
                self.breaks(place, "a body is needed")
            return
        if newer.get("required") and not older.get("required"):
            self.breaks(place, "a body is needed")
        self.content(f"{place}, body", older["content"], newer["content"], is_sent=True)

    def answer(self, place, older, newer):
        for name, header in older.get("headers", {}).items():
            if name not in newer.get("headers", {}):
                self.breaks(place, f"the header {name} is gone")
                continue
            before, after = self.both(header, newer["headers"][name])
            if before.get("required") and not after.get("required"):
                self.breaks(place, f"the header {name} may be missing")
        self.content(place, older.get("content", {}), newer.get("content", {}), is_sent=False)

    def content(self, place, older, newer, is_sent):
        for kind, content in older.items():
            if kind not in newer:
                self.breaks(place, f"{kind} is gone")
            else:
                self.schema(place, content.get("schema", {}), newer[kind].get("schema", {}), is_sent)

    def schema(self, place, older, newer, is_sent):
        """What is sent may be accepted more widely, what is answered may only become more certain."""
        reference = older.get("$ref"), newer.get("$ref"), is_sent
        if reference[0] and reference[1]:
            if reference in self.compared:
                return
            self.compared.add(reference)
            place = reference[0].split("/")[-1] + (" as it is sent" if is_sent else "")
        older, newer = self.both(older, newer)
        types = [set(self.listed(schema.get("type"))) for schema in (older, newer)]
        if types[0] != types[1] and not (is_sent and types[0] < types[1]):
            self.breaks(place, f"the type is {sorted(types[1])}, was {sorted(types[0])}")
        self.values(place, older, newer, is_sent)
        self.bounds(place, older, newer, is_sent)
        before, after = self.members(older, self.older), self.members(newer, self.newer)
        needed = [set(self.needed(schema, of)) for schema, of in ((older, self.older), (newer, self.newer))]
        for name in sorted(needed[1] - needed[0] if is_sent else needed[0] - needed[1]):
            self.breaks(place, f"{name} " + ("is needed" if is_sent else "may be missing"))
        for name, member in before.items():
            if name in after:
                self.schema(f"{place}.{name}", member, after[name], is_sent)
            else:
                self.breaks(place, f"{name} is gone")
        if newer.get("additionalProperties") is False and older.get("additionalProperties") is not False:
            self.breaks(place, "other members are not allowed")
        if "items" in older and "items" in newer:
            self.schema(f"{place}[]", older["items"], newer["items"], is_sent)

    @staticmethod
    def listed(value):
        return value if isinstance(value, list) else [value] if value else []

    def values(self, place, older, newer, is_sent):
        before, after = older.get("enum"), newer.get("enum")
        if is_sent and after and (not before or not set(before) <= set(after)):
            self.breaks(place, f"values are no longer accepted: {sorted(set(before or ['any']) - set(after))}")
        if not is_sent and before and (not after or not set(after) <= set(before)):
            self.breaks(place, f"values are new: {sorted(set(after or ['any']) - set(before))}")

    def bounds(self, place, older, newer, is_sent):
        for keyword, sign in (("minimum", 1), ("minLength", 1), ("minItems", 1),
                              ("maximum", -1), ("maxLength", -1), ("maxItems", -1)):
            before, after = older.get(keyword), newer.get(keyword)
            narrow, wide = (before, after) if is_sent else (after, before)
            if wide is not None and (narrow is None or sign * wide > sign * narrow):
                self.breaks(place, f"{keyword} is {after}, was {before}")
        if older.get("pattern") != newer.get("pattern"):
            self.breaks(place, "the pattern has changed")

    def members(self, schema, description):
        found = {}
        for part in schema.get("allOf", []):
            found.update(self.members(self.resolved(part, description), description))
        found.update(schema.get("properties", {}))
        return found

    def needed(self, schema, description):
        found = list(schema.get("required", []))
        for part in schema.get("allOf", []):
            found += self.needed(self.resolved(part, description), description)
        return found


def differences(older, newer):
    comparison = Comparison(older, newer)
    comparison.paths()
    return comparison.found


def broken_copies(description):
    """The description with one breaking change each, and a word of what must be named."""
    schemas = description["components"]["schemas"]

    def changed(change):
        broken = copy.deepcopy(description)
        change(broken)
        return broken

    def each(name, change):
        return changed(lambda broken: change(broken["components"]["schemas"][name]))

    yield "the path is gone", changed(lambda broken: broken["paths"].pop("/v1/apps"))
    yield "delete is gone", changed(lambda broken: broken["paths"]["/v1/sessions/{id}"].pop("delete"))
    yield "status 200 is gone", changed(lambda broken: broken["paths"]["/livez"]["get"]["responses"].pop("200"))
    yield "operationId", changed(lambda broken: broken["paths"]["/livez"]["get"].update(operationId="live"))
    yield "a token is needed", changed(lambda broken: broken["paths"]["/v1/apps"]["get"].update(security=[{"session": []}]))
    yield "the header ETag is gone", changed(
        lambda broken: broken["paths"]["/v1/sessions"]["post"]["responses"]["201"]["headers"].pop("ETag"))
    yield "query parameter limit: is gone", changed(
        lambda broken: broken["paths"]["/v1/sessions/{id}/history"]["get"]["parameters"].pop(0))
    yield "maximum", changed(lambda broken: broken["paths"]["/v1/sessions/{id}/history"]["get"]["parameters"][0]
                             ["schema"].update(maximum=50))
    yield "the query parameter more is needed", changed(lambda broken: broken["paths"]["/livez"]["get"].update(
        parameters=[{"in": "query", "name": "more", "required": True, "schema": {"type": "string"}}]))
    yield "Screen: title is gone", each("NavigationScreen", lambda schema: schema["properties"].pop("title"))
    yield "Screen: key may be missing", each("NavigationScreen", lambda schema: schema["required"].remove("key"))
    yield "Operation: key may be missing", each("ScreenOperation", lambda schema: schema["required"].remove("key"))
    yield "Session.version: the type", each(
        "Session", lambda schema: schema["properties"]["version"].update(type="string"))
    yield "values are new", each("AlertButton", lambda schema: schema["properties"]["role"]["enum"].append("other"))
    yield "other members", each("NavigationState", lambda schema: schema.update(additionalProperties=False))
    yield "values are new", each("Back", lambda schema: schema["properties"]["effect"]["enum"].append("other"))
    yield "the pattern", each("ScreenKey", lambda schema: schema.update(pattern="^x"))
    yield "client_time is needed", each("NavigationEvent", lambda schema: (
        schema["required"].append("client_time"), schema["properties"].update(client_time={"type": "string"})))
    yield "screen is gone", each("NavigationEvent", lambda schema: schema["properties"].pop("screen"))
    yield "forkOf: the type", each("NewSession", lambda schema: schema["properties"]["forkOf"].update(type="integer"))


def main():
    with open(sys.argv[-2] if sys.argv[1] != "--self-test" else sys.argv[2]) as file:
        older = yaml.safe_load(file)
    if sys.argv[1] == "--self-test":
        missed = [what for what, broken in broken_copies(older)
                  if not any(what in text for text in differences(older, broken))]
        if differences(older, older):
            missed.append("a description differs from itself")
        sys.exit("\n".join(f"not named: {what}" for what in missed) or 0)
    with open(sys.argv[-1]) as file:
        newer = yaml.safe_load(file)
    found = differences(older, newer)
    sys.exit("\n".join(found) or 0)


main()
