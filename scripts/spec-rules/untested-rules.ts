/** Rules that no test shows, with the reason. A rule that has a test must not be here. */
export const UNTESTED_RULES: ReadonlyMap<string, string> = new Map([
  [
    'JB-5',
    'it is about the documentation; each example, and each complete snippet of a guide, is run by a test of its own',
  ],
])
