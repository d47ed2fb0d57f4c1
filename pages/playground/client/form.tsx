// The form of a match. While a field has no valid number, the last valid one counts.

import { useLayoutEffect, useState } from "hono/jsx/dom";
import { Choice } from "../../ui/choice.tsx";
import { contenders } from "../contender.ts";
import { type DelayChoice, type DelayId, delays } from "../delay.ts";
import type { ProblemId } from "../problem.ts";
import { defaults, MOST_POLICIES, ranges, type Settings, sharesInTime } from "../settings.ts";

const problems: Record<ProblemId, { readonly name: string; readonly text: string }> = {
  linear: {
    name: "A shelf",
    text: "Ten new candidates each round. The conversion rate is linear in five features. Failures are not reported.",
  },
  curve: {
    name: "A dial",
    text: "Fifty-one settings of one dial. The success rates are drawn from a Gaussian process. Failures are reported too.",
  },
};

/** Screens on which settings and results are side by side, as in playground.css. */
const wide = matchMedia("(min-width: 64rem)");

interface FormProps {
  readonly settings: Settings;
  change(settings: Settings): void;
}

function Problem({ settings, change }: FormProps) {
  return (
    <Choice
      name="problem"
      legend="Problem"
      options={(Object.keys(problems) as ProblemId[]).map((value) => ({ label: problems[value].name, value }))}
      chosen={settings.problem}
      choose={(id) => change({ ...defaults[id], seed: settings.seed, pace: settings.pace })}
    >
      <p class="quiet">{problems[settings.problem].text}</p>
    </Choice>
  );
}

function Policies({ settings, change }: FormProps) {
  const { problem, policies } = settings;
  const toggle = (name: string) =>
    change({ ...settings, policies: policies.includes(name) ? policies.filter((each) => each !== name) : [...policies, name] });
  return (
    <fieldset class="policies">
      <legend>
        Policies <span class="unseen">(1 to {MOST_POLICIES})</span>
      </legend>
      <ul>
        {Object.entries(contenders[problem]).map(([id, { name, note }]) => {
          const place = policies.indexOf(id);
          const picked = place >= 0;
          return (
            <li key={`${problem} ${id}`}>
              <label>
                <input
                  type="checkbox"
                  name="policies"
                  value={id}
                  checked={picked}
                  disabled={picked ? policies.length === 1 : policies.length === MOST_POLICIES}
                  onChange={() => toggle(id)}
                />
                <span>
                  {name} {picked && <i class={`mark p${place}`} />}
                  <small>{note}</small>
                </span>
              </label>
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}

/** A text that is no valid number, and the number that counts instead. */
interface Refused {
  readonly text: string;
  readonly counting: number;
}

function NumberField({ settings, change, name, label }: FormProps & { name: keyof typeof ranges; label: string }) {
  const [least, most] = ranges[name];
  const [refused, setRefused] = useState<Refused | undefined>(undefined);
  const counting = settings[name];
  const taken = (event: Event) => {
    const field = event.currentTarget as HTMLInputElement;
    const { value, valueAsNumber, validity } = field;
    setRefused(validity.valid ? undefined : { text: value, counting });
    if (validity.valid) change({ ...settings, [name]: valueAsNumber });
  };
  // Another number has replaced the refused text if another one counts now.
  const shown = refused?.counting === counting ? refused : undefined;
  return (
    <label class="number-field">
      <span>{label}</span>
      <input
        type="number"
        inputmode="numeric"
        name={name}
        min={least}
        max={most}
        step={1}
        required
        value={counting}
        onChange={taken}
        aria-invalid={shown ? "true" : "false"}
      />
      <small role="alert">
        {shown && `Expected a whole number from ${least} to ${most}, got ${shown.text || "none"}: ${counting} still counts.`}
      </small>
    </label>
  );
}

function Delay({ settings, change }: FormProps) {
  const choice: DelayChoice = delays[settings.delay];
  const [least, greatest] = sharesInTime(settings).map((share) => Math.floor(1000 * share) / 10);
  return (
    <fieldset class="delay">
      <legend>Delays, in rounds</legend>
      <label class="number-field">
        <span>Law</span>
        <select
          name="delay"
          onChange={(event: Event) => change({ ...settings, delay: (event.currentTarget as HTMLSelectElement).value as DelayId })}
        >
          {Object.entries(delays).map(([id, { name }]) => (
            <option key={id} value={id} selected={id === settings.delay}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {choice.typical && (
        <NumberField settings={settings} change={change} name="typical" label={choice.typical === "mean" ? "Mean" : "Median"} />
      )}
      <NumberField settings={settings} change={change} name="window" label="Window" />
      <p class="quiet">
        {least === greatest
          ? `${least} % of delays end inside the window.`
          : `${least} to ${greatest} % of delays end inside the window, by policy.`}{" "}
        Later outcomes do not count.
      </p>
    </fieldset>
  );
}

/** The settings. Every change starts a new match. On a narrow screen they are folded, so that the results come first. */
export function Form({ settings, change }: FormProps) {
  const [open, setOpen] = useState(wide.matches);
  useLayoutEffect(() => {
    const widened = () => setOpen(wide.matches);
    wide.addEventListener("change", widened);
    return () => wide.removeEventListener("change", widened);
  }, []);
  return (
    <details class="panel" open={open} onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>
        Settings: {problems[settings.problem].name.toLowerCase()}, {settings.policies.length} policies
      </summary>
      <Fields settings={settings} change={change} />
    </details>
  );
}

function Fields({ settings, change }: FormProps) {
  return (
    <form class="settings" aria-label="Settings" onSubmit={(event: Event) => event.preventDefault()}>
      <Problem settings={settings} change={change} />
      <Policies settings={settings} change={change} />
      <Delay key={`delay of ${settings.problem}`} settings={settings} change={change} />
      <fieldset key={`match of ${settings.problem}`}>
        <legend>Match</legend>
        <NumberField settings={settings} change={change} name="rounds" label="Rounds" />
        <NumberField settings={settings} change={change} name="seed" label="Seed" />
        <label class="reveal">
          <input
            type="checkbox"
            name="pace"
            checked={settings.pace === "slow"}
            onChange={() => change({ ...settings, pace: settings.pace === "slow" ? "fast" : "slow" })}
          />
          Slow motion
        </label>
      </fieldset>
    </form>
  );
}
