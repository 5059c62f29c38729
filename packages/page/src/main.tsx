/** Begins the page in the one element that its document has. */
import { render } from "preact";
import { App } from "./app.tsx";

render(<App />, document.querySelector("#page")!);
