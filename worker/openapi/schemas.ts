import { type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { problem } from "../protocol/answers.ts";
import type { Choice } from "../protocol/forms.ts";
import { modelOptions, type OptionName } from "../protocol/model-options.ts";
import type { Operations } from "../protocol/operation.ts";
import { action, features } from "../protocol/schema.ts";
import { LAST_MS, SECONDS, timestamp as timestampSchema } from "../protocol/timestamp.ts";
import { describedOption, meaningOf } from "./model-options.ts";
import { operations } from "./operations.ts";

/** The named schemas of the description. */
export const schemas: Readonly<Record<string, v.GenericSchema>> = {
  // The name belongs to the first schema of the pipe.
  Timestamp: timestampSchema.pipe[0],
  Features: features,
  Action: action,
  ...schemasOf(operations),
  Problem: problem,
};

function schemasOf(operations: Operations): Record<string, v.GenericSchema> {
  const all = Object.values(operations).map(({ body, answers }) => [body, ...Object.values(answers).map(({ schema }) => schema)]);
  return Object.assign({}, ...all.flat());
}

const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));

export const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/**
 * The schema as JSON Schema 2020-12, with references to named schemas.
 * @throws {Error} if JSON Schema cannot express it.
 */
export function jsonSchemaOf(schema: v.GenericSchema): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...json
  } = toJsonSchema(schema, {
    target: "draft-2020-12",
    typeMode: "input",
    errorMode: "throw",
    // JSON numbers are finite. A check is code.
    ignoreActions: ["finite", "check"],
    overrideSchema: ({ valibotSchema }) => {
      if (valibotSchema !== schema && names.has(valibotSchema)) return referenceOrSchema(valibotSchema);
      // A custom schema is a refusal. The converter asks for one, and then takes the override of the lazy schema around it.
      if (valibotSchema.type === "custom") return {};
      if (valibotSchema.type !== "lazy") return undefined;
      const [form, ...others] = (valibotSchema as Choice<v.GenericSchema>).forms.map(referenceOrSchema);
      return others.length === 0 ? form : { anyOf: [form, ...others] };
    },
  });
  return json;
}

function referenceOrSchema(schema: v.GenericSchema): JsonSchema {
  const name = names.get(schema);
  return name ? reference(name) : jsonSchemaOf(schema);
}

/** The description's schemas by name. */
export function components(): Record<string, JsonSchema> {
  const converted = Object.entries(schemas).map(([name, schema]) => [name, jsonSchemaOf(schema)] as const);
  const { Timestamp: _, ModelBody, ModelPatch, ResetFromLog, Model, ...others } = Object.fromEntries(converted);
  return {
    Timestamp: timestamp,
    ModelBody: described(ModelBody, describedOption),
    ModelPatch: described(ModelPatch, describedOption),
    ResetFromLog: described(ResetFromLog, describedOption),
    Model: described(Model, meaningOf),
    ...others,
  };
}

/** Stated by hand, because the converter stops at the transformation of the pipe. */
const timestamp: JsonSchema = {
  description: `Milliseconds since 1970, or ISO 8601. Numbers from ${SECONDS[0]} to ${SECONDS[1]} are refused: they are seconds.`,
  anyOf: [
    { type: "integer", minimum: SECONDS[1], maximum: LAST_MS },
    { type: "integer", minimum: 0, exclusiveMaximum: SECONDS[0] },
    { type: "string", format: "date-time" },
  ],
};

/** The schema with a text for each option of a model. */
function described({ properties = {}, ...schema }: JsonSchema, text: (name: OptionName) => string): JsonSchema {
  const entries = Object.entries(properties) as [string, JsonSchema][];
  const withText = entries.map(([name, value]) => [name, isOption(name) ? { description: text(name), ...value } : value]);
  return { ...schema, properties: Object.fromEntries(withText) };
}

const isOption = (name: string): name is OptionName => name in modelOptions;
