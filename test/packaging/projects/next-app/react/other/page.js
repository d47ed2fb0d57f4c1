export default function Page() {
  return <p>Another page.</p>;
}
