/** The text of a file, in Vite's import. */
declare module "*?raw" {
  const text: string;
  export default text;
}
