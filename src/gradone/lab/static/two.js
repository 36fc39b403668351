// Two targets side by side: two pages of the lab, whose addresses are kept in the address of this one.
import { byId } from "./dom.js";

const SIDES = ["left", "right"];
const given = new URLSearchParams(location.search);
for (const side of SIDES) byId(side).src = `/?${given.get(side) ?? ""}`;

/** What the pages have become since, so that this address can be shared and bookmarked as well. */
function remember() {
  const query = new URLSearchParams();
  for (const side of SIDES) query.set(side, byId(side).contentWindow.location.search.slice(1));
  if (query.toString() !== location.search.slice(1)) history.replaceState(null, "", `?${query}`);
}

for (const side of SIDES) byId(side).addEventListener("load", () => setInterval(remember, 1000), { once: true });
