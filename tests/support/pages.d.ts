// What scripts of the pages under test find, which TypeScript can't know from here: the bodies of page.evaluate() run there.
export {};

declare global {
  /** Pages and tests leave things for each other on it. */
  interface Window {
    [name: string]: any;
  }
  /** A selector finds what the page has under it: fields, buttons, dialogs, our own elements. */
  interface Element {
    checked: any;
    disabled: any;
    engine: any;
    form: any;
    hidden: any;
    innerText: any;
    labels: any;
    messages: any;
    open: any;
    phase: any;
    requestSubmit: any;
    send: any;
    stop: any;
    strings: any;
    type: any;
    value: any;
  }
  /** Of the element's own events. */
  interface Event {
    detail: any;
  }
  /** Of layout-shift entries. */
  interface PerformanceEntry {
    value: number;
  }
}
