/** SVG paths of line drawings, in a view box of 48 x 48. */
const paths: Readonly<Record<string, string>> = {
  tent: "M24 9 5 39h38L24 9Zm0 13-10 17m10-17 10 17",
  mug: "M10 16h24v16a6 6 0 0 1-6 6H16a6 6 0 0 1-6-6V16Zm24 4h3a5 5 0 0 1 0 11h-3M18 11c-2-2 2-3 0-5m8 5c-2-2 2-3 0-5",
  lamp: "M17 8h14l6 15H11l6-15Zm7 15v17m-9 0h18",
  plant: "M14 30h20l-3 11H17l-3-11Zm10 0V15m0 6c0-7 5-12 13-12 0 7-5 12-13 12Zm0 6c0-7-4-11-12-11 0 7 4 11 12 11Z",
  kettlebell: "M17 19c-4-7-2-12 7-12s11 5 7 12m0 0a13 13 0 0 1-1 21H18a13 13 0 0 1-1-21h14Z",
  skateboard: "M4 18c2 4 5 6 9 6h22c4 0 7-2 9-6M15 24v3m18-3v3M15 35a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm18 0a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z",
  headphones: "M9 30v-4a15 15 0 0 1 30 0v4M9 28h6v12h-3a3 3 0 0 1-3-3v-9Zm30 0h-6v12h3a3 3 0 0 0 3-3v-9Z",
  record: "M24 42a18 18 0 1 0 0-36 18 18 0 0 0 0 36Zm0-11a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm0-7v.01M24 11a13 13 0 0 1 13 13",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg viewBox="0 0 48 48" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
