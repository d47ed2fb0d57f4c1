/** Notes the visitor's answer. The page is then loaded again, so its list is asked for with that answer. */
export function POST(request: Request): Response {
  const given = new URL(request.url).searchParams.get("given") === "yes" ? "yes" : "no";
  return new Response(null, {
    status: 303,
    headers: { location: "/", "set-cookie": `consent=${given}; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax` },
  });
}
