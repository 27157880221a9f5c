"""JUnit's XML, in the form of Jenkins' schema, which GitLab and GitHub's actions read as well."""

from xml.etree.ElementTree import Element, indent, tostring

COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""What a suite of JUnit counts, and the elements that it is of."""


def as_junit(suite: Element) -> str:
    """Return the text of a suite, with its tests counted."""
    for count, tag in COUNTED.items():
        suite.set(count, str(sum(1 for _ in suite.iter(tag))))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"
