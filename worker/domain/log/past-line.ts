import * as v from "valibot";
import { actionId, fields, optional, text } from "../../protocol/forms.ts";
import { keys } from "../../protocol/join-key.ts";
import { anyAction, place, probability } from "../../protocol/schema.ts";
import { timestamp } from "../../protocol/timestamp.ts";
import { conversion, impression, others } from "./log-line.ts";

/** A line of a log that is imported: of an export, or of one that a shop wrote, with fewer fields, its own ids and join keys. */
export const pastLine = v.variant("type", [
  fields({
    ...optional(impression),
    type: impression.type,
    id: impression.id,
    action: anyAction,
    shownAt: timestamp,
    state: v.optional(impression.state, "live"),
    arm: v.optional(impression.arm, "policy"),
    hashes: v.optional(impression.hashes, []),
    byPage: v.optional(v.boolean(), false),
    sampling: v.optional(impression.sampling.wrapped, 0),
    probability: v.nullish(probability),
    place: v.optional(place),
    keys: v.optional(keys, []),
  }),
  fields({
    ...optional(conversion),
    type: conversion.type,
    impression: conversion.impression,
    goal: v.optional(conversion.goal, "conversion"),
    event: v.optional(text(256)),
    reward: conversion.reward,
    at: timestamp,
    status: v.optional(conversion.status, "applied"),
    action: v.nullish(actionId, null),
  }),
  ...others,
]);
export type PastItem = v.InferOutput<typeof pastLine>;
