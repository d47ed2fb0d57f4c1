/**
 * Names of the calls in the prototype of an audience, for a class that gets them all.
 * @throws {Error} if that class has a method of the same name already: it would be lost without a word.
 */
export function callNames(audience: object, learner: object): string[] {
  const names = Object.getOwnPropertyNames(audience).filter((name) => name !== "constructor");
  const double = names.find((name) => Object.hasOwn(learner, name));
  if (double) throw new Error(`expected another name for the call ${double}: the learner has one of that name already`);
  return names;
}
