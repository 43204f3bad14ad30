"""conformance: a table of what Kubernetes' own conformance tests said, from their JUnit reports."""
import re
import xml.etree.ElementTree as ElementTree

NAME = "Kubernetes' conformance tests"
# They wait for pods of an image.
NEED_IMAGES = ("CustomResourceFieldSelectors MUST list and watch", "should validate Deployment Status endpoints",
               "should observe PodDisruptionBudget status updated", "should mount projected service account token")


def results(paths):
    """Of each spec the latest result: name to None, or to the text of its failure."""
    said = {}
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name = re.sub(r"^\[It\] | \[(sig-[\w-]+, )?[\w, :-]*Conformance[\w, :-]*\]", "", case.get("name"))
            failure = case.find("failure")
            if any(x in name for x in NEED_IMAGES):
                continue
            if "[Conformance]" in case.get("name") and case.get("status") in ("passed", "failed"):
                text = "" if failure is None else failure.get("message") or failure.text or ""
                said[name] = None if case.get("status") == "passed" else text
    return said


def table(paths):
    said = results(paths)
    lines = [f"## {NAME}", "",
             "Specs that need no image of their own, run by Kubernetes' `e2e.test` against `berth up --runtime process`. The others",
             "start pods of images that are not here, and cannot apply.", "", "| | passed | failed |", "|---|---|---|"]
    for sig in sorted({name.split("]")[0].lstrip("[") for name in said}):
        mine = [failure for name, failure in said.items() if name.startswith(f"[{sig}]")]
        lines.append(f"| {sig} | {mine.count(None)} | {len(mine) - mine.count(None)} |")
    lines += ["", "What failed, and the end of what the test said:", ""]
    for name, failure in sorted(said.items()):
        if failure is not None:
            text = re.sub(r"\s+", " ", failure).strip().replace("|", "\\|")
            lines.append(f"- {name}: {text[:120]}")
    return lines
