"""Whether the steps of a workflow fit together: unique ids, steps to go on with, and steps to refer to."""

from dataclasses import dataclass, field, replace

from routines.domain.cursor import Field
from routines.domain.findings import shown
from routines.domain.jsonvalues import Frozen
from routines.workflow import references
from routines.workflow.references import Reference
from routines.workflow.steps import END, BranchStep, MapStep, ParallelStep, Step, ids, inside


def check(steps: tuple[Step, ...], at: Field, result: Frozen, result_at: Field) -> None:
    """Note whatever does not fit in the steps that were read of a field, and in the result."""
    sight = _Sight(steps=ids(steps))
    _List(sight=sight).check(steps, at)
    sight.check(result, result_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """What references may name from somewhere.

    steps: the ids of the steps.
    item: whether there is an item of a map.
    """

    steps: frozenset[str]
    item: bool = False

    def check(self, value: Frozen, at: Field) -> None:
        """Note each reference in a value to what cannot be seen."""
        for path, text in references.within(value, at.path):
            # What is no reference was noted when it was read.
            if not at.findings.touched(path) and (found := references.read(text)) is not None:
                self.check_one(found, Field(value=text, path=path, findings=at.findings))

    def check_one(self, reference: Reference, at: Field) -> None:
        if reference.root == "steps" and reference.path[0] not in self.steps:
            at.refuse(
                f"{shown(reference.text)} names no step that can be seen from here; write the id of one. What a map, "
                "or another branch of a parallel step, holds cannot be seen."
            )
        elif reference.root in ("item", "index") and not self.item:
            at.refuse(f"{shown(reference.text)} is known in the steps of a map alone; refer to a step's value.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    """Checks a list of steps.

    sight: what its steps may refer to.
    seen: the ids of the steps that came before it in the file.
    """

    sight: _Sight
    seen: set[str] = field(default_factory=set)

    def check(self, steps: tuple[Step, ...], at: Field) -> None:
        here = {step.id for step in steps}
        for step, place in zip(steps, at.items("a list of steps"), strict=False):
            if step.id and step.id in self.seen:
                place.at("id").refuse(f"Another step has the id {shown(step.id)}; give this one its own.")
            self.seen.add(step.id)
            if isinstance(step, BranchStep):
                self._branch(step, place, here)
                continue
            if step.next is not None:
                _check_target(step.next, place.at("next"), here)
            if isinstance(step, ParallelStep):
                self._parallel(step, place)
            elif isinstance(step, MapStep):
                self.sight.check_one(step.over, place.at("over"))
                sight = _Sight(steps=self.sight.steps | ids(step.steps), item=True)
                replace(self, sight=sight).check(step.steps, place.at("steps"))
            else:
                self.sight.check(step.inputs, place.at("inputs"))

    def _branch(self, step: BranchStep, place: Field, here: set[str]) -> None:
        for choice, item in zip(step.branches, place.at("branches").items("a list of branches"), strict=False):
            _check_target(choice.next, item.at("next"), here)
            if isinstance(choice.when.left, Reference):
                self.sight.check_one(choice.when.left, item.at("when"))
        _check_target(step.default, place.at("default"), here)

    def _parallel(self, step: ParallelStep, place: Field) -> None:
        # What the branches do in the meantime is seen by none of the others.
        before = self.sight.steps.difference(*map(ids, inside(step)))
        for strand, item in zip(step.branches, place.at("branches").items("a list of branches"), strict=False):
            sight = replace(self.sight, steps=before | ids(strand.steps))
            replace(self, sight=sight).check(strand.steps, item.at("steps"))


def _check_target(target: str, at: Field, here: set[str]) -> None:
    if target != END and target not in here:
        at.refuse(f"No step of this list has the id {shown(target)}; name one of it, or {END}.")
