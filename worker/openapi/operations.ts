import { operations as beacon } from "../edge/routes/beacon.ts";
import { operations as conversions } from "../edge/routes/conversions.ts";
import { operations as health } from "../edge/routes/health.ts";
import { operations as hooks } from "../edge/routes/hooks.ts";
import { operationsOfOne as impression, operations as impressions } from "../edge/routes/impressions.ts";
import { operations as actions } from "../edge/routes/models/actions.ts";
import { operations as events } from "../edge/routes/models/events.ts";
import { operations as figures } from "../edge/routes/models/figures.ts";
import { operations as keys } from "../edge/routes/models/keys.ts";
import { deletions, operations as models } from "../edge/routes/models/models.ts";
import { operations as reset } from "../edge/routes/models/reset.ts";
import { operations as rollback } from "../edge/routes/models/rollback.ts";
import { operations as snapshot } from "../edge/routes/models/snapshot.ts";
import { operations as openapi } from "../edge/routes/openapi.ts";
import { operations as page } from "../edge/routes/page.ts";
import { operations as published } from "../edge/routes/published.ts";
import { operations as recommendations } from "../edge/routes/recommendations.ts";
import type { Operations } from "../protocol/operation.ts";

/** All operations, in an order for trying them out. */
export const operations: Operations = {
  ...page(),
  ...health(),
  ...openapi(),
  ...models(),
  ...actions(),
  ...recommendations(),
  ...impressions(),
  ...conversions(),
  ...hooks(),
  ...beacon(),
  ...impression(),
  ...keys(),
  ...figures(),
  ...events(),
  ...snapshot(),
  ...published(),
  ...rollback(),
  ...reset(),
  ...deletions(),
};
