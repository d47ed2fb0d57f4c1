// Puts the cards of a model's dashboard in order. The cards fetch nothing: `monitor.ts` does.

import type { Child } from "hono/jsx";
import { useEffect, useLayoutEffect, useState } from "hono/jsx/dom";
import type { Explanation, ModelSummary } from "../../worker/protocol/answers.ts";
import type { Metrics } from "../../worker/protocol/metrics-answer.ts";
import { clockSkew } from "../ui/clock-skew.ts";
import { Empty } from "../ui/empty.tsx";
import { duration, moment } from "../ui/notation.ts";
import { linkTo, type Route } from "../ui/route.ts";
import { Alarm, Calm } from "./alarm.tsx";
import { DelayOf } from "./delay.tsx";
import { ExaminationOf } from "./examination.tsx";
import { ExplanationOf } from "./explanation.tsx";
import { Figures } from "./figures.tsx";
import { Ages, Delays } from "./histogram.tsx";
import { LiftOf } from "./lift.tsx";
import { Monitor } from "./monitor.ts";
import { Rate } from "./rate.tsx";
import { Recents } from "./recents.tsx";
import type { Source } from "./source.ts";

function Models({ models, chosen }: { models: readonly ModelSummary[]; chosen: string | undefined }) {
  if (models.length === 0) {
    return (
      <section>
        <Empty title="No model yet">
          Create one with PUT /v1/models/MODEL and <code>{'{ "window": { "ms": 604800000 } }'}</code>, then give it a catalogue with PUT
          /v1/models/MODEL/actions. The model then appears here.
        </Empty>
      </section>
    );
  }
  return (
    <nav aria-label="Models" class="models">
      {models.map(({ model }) => (
        <a key={model} href={linkTo(model)} aria-current={model === chosen ? "page" : undefined}>
          {model}
        </a>
      ))}
    </nav>
  );
}

interface Shown {
  readonly source: Source;
  readonly metrics: Metrics;
  readonly explanation: Explanation | null | undefined;
  readonly impression: string | undefined;
  readonly simulated: boolean;
  readonly children?: Child;
}

/** One model's counts, rates, delays and newest impressions. */
function Model({ source, metrics, explanation, impression, simulated, children }: Shown) {
  const { model, policy, serving, windowMs, now } = metrics;
  return (
    <div class="columns">
      <p class="about">
        <b>{model}</b>: policy {policy}, served {serving === "edge" ? "at the edge" : "by its learner"}, window {duration(windowMs)}. As of{" "}
        {moment(now, true)}.
      </p>
      {simulated ? <Calm metrics={metrics} /> : <Alarm metrics={metrics} />}
      <Figures metrics={metrics} />
      {children}
      <section class="wide">
        <Rate metrics={metrics} />
      </section>
      <section class="wide">
        <LiftOf metrics={metrics} />
      </section>
      <ExaminationOf key={`examination of ${model}`} source={source} model={model} />
      <section class="wide delay">
        <DelayOf key={model} metrics={metrics} />
      </section>
      <section>
        <Ages metrics={metrics} />
      </section>
      <section>
        <Delays metrics={metrics} />
      </section>
      <Recents metrics={metrics} chosen={impression} />
      {explanation && explanation.impressionId === impression ? (
        <ExplanationOf key={impression} explanation={explanation} now={now} beside={model} />
      ) : (
        <section>
          {impression === undefined && (
            <Empty title="Why an impression was shown">Choose one of the newest impressions, or paste an impression id.</Empty>
          )}
          {impression !== undefined && explanation === null && (
            <Empty title="No such impression">
              This worker does not know this id. It may belong to another worker, be older than the log, or be cut off.
            </Empty>
          )}
        </section>
      )}
    </div>
  );
}

/**
 * The dashboard of the model that the route names. Without a name it shows the first model.
 * @param props.refused is called when the worker refuses the source's key.
 * @param props.simulated says that the model's visitors are simulated. They stop buying when nobody sends them, so that is no alarm.
 * @param props.children appear below the model's counts.
 */
export function Dashboard(props: { source: Source; route: Route; simulated?: boolean; refused?: () => void; children?: Child }) {
  const { source, route, simulated = false, refused, children } = props;
  const [, redraw] = useState({});
  const [monitor] = useState(() => new Monitor(source, () => redraw({})));
  useLayoutEffect(() => monitor.show(route.model, route.impression), [route.model, route.impression]);
  useLayoutEffect(() => monitor.start(), []);
  useEffect(() => {
    if (monitor.refused) refused?.();
  }, [monitor.refused]);
  const { models, metrics, explanation, problem, name } = monitor;
  return (
    <>
      <p class="problem" role="status">
        {problem || (metrics && clockSkew(Date.now() - metrics.now))}
      </p>
      {models && <Models models={models} chosen={metrics?.model ?? route.model} />}
      {metrics === null && name !== undefined && (
        <section>
          <Empty title={`No model ${name}`}>
            This worker has no model of this name. Choose one of the list, or create it with PUT /v1/models/{name}.
          </Empty>
        </section>
      )}
      {metrics && (
        <Model source={source} metrics={metrics} explanation={explanation} impression={route.impression} simulated={simulated}>
          {children}
        </Model>
      )}
    </>
  );
}
