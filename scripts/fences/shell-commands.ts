/** A word in quotes, an escaped character, an operator, a comment, blanks, or anything else. */
const TOKEN =
  /'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\\n|\\(?<escaped>.)|(?<operator>\n|&&|\|\||[|;&()]|<\()|(?<redirection>\d*[<>]+(?:&\d)?)|(?<comment>(?<=^|\s)#[^\n]*)|(?<blank>[ \t]+)|(?<plain>.)/gs

/** The commands of a script, each as its words: those of pipes and lists too, without what goes to files. */
export function shellCommands(script: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]]
  let word: string | undefined
  let isFile = false
  const endWord = (): void => {
    if (word !== undefined && !isFile) commands.at(-1)?.push(word)
    if (word !== undefined) isFile = false
    word = undefined
  }
  for (const { groups = {} } of script.matchAll(TOKEN)) {
    const part = groups['single'] ?? groups['double'] ?? groups['escaped'] ?? groups['plain']
    if (part !== undefined) {
      word = (word ?? '') + part
      continue
    }
    if (
      groups['redirection'] !== undefined ||
      groups['operator'] !== undefined ||
      groups['blank'] !== undefined
    )
      endWord()
    isFile ||= groups['redirection']?.endsWith('&1') === false
    if (groups['operator'] !== undefined) commands.push([])
  }
  endWord()
  return commands.filter((words) => words.length > 0)
}
