/** A rule of the shipped code taken out, by text. */
export interface Mutant {
  readonly name: string
  /** What the rule is for: what goes wrong without it. */
  readonly why: string
  readonly edits: readonly Edit[]
  /** A seed whose schedule shows it, found by `npm run mutants`; where CI looks. */
  readonly killedBy: number
}

/** `find` has to be in the file exactly once: a mutant that fits nothing any more is an error. */
export interface Edit {
  /** From `packages/processor/src/`. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** The text with the edits that are for this file. */
export function mutate(file: string, source: string, { name, edits }: Mutant): string {
  let text = source
  for (const edit of edits) {
    if (edit.file !== file) continue
    const pieces = text.split(edit.find)
    if (pieces.length !== 2) {
      throw new Error(
        `mutant ${name}: ${JSON.stringify(edit.find)} is ${pieces.length - 1} times in ${file}`,
      )
    }
    text = pieces.join(edit.replace)
  }
  return text
}
