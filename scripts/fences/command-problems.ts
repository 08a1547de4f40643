import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../repository.ts'

/** What a repository has that commands can name. */
export interface Names {
  readonly root: string
  readonly scripts: readonly string[]
  readonly packages: readonly string[]
}

/** What is wrong with a command of a page, as far as it is one of ours. */
export async function commandProblems(words: readonly string[], names: Names): Promise<string[]> {
  const [program = '', ...args] = words.slice(
    words.findIndex((word) => !/^(?:\$|\w+=.*)$/.test(word)),
  )
  if (program === 'npx') return commandProblems(args, names)
  if (program === 'tidemark') return asked({ args })
  if (program === 'npm') return npmProblems(args, names)
  if (program === 'node' || program === 'vitest') return missingFiles(args, names.root)
  return []
}

/** What is wrong with a command that a sentence mentions: it may lack arguments, and what must be given. */
export function mentionProblems(mention: string): Promise<string[]> {
  return asked({ mention })
}

type Question = { readonly args: readonly string[] } | { readonly mention: string }

let ask: ((question: Question) => Promise<string[]>) | undefined

/** By a process, because packages do not publish their commands as modules. It lives as long as this one. */
function asked(question: Question): Promise<string[]> {
  ask ??= startAsking()
  return ask(question)
}

function startAsking(): (question: Question) => Promise<string[]> {
  const program = join(ROOT, 'packages/tidemark/src/cli/check-commands.child.ts')
  const child = spawn(process.execPath, ['--conditions=@tidemark/source', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting: PromiseWithResolvers<string[]>[] = []
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.resolve(JSON.parse(line) as string[]),
  )
  child.on('exit', (code) => {
    for (const one of waiting.splice(0)) one.reject(new Error(`${program} ended with ${code}`))
  })
  return (question) => {
    const answer = Promise.withResolvers<string[]>()
    waiting.push(answer)
    child.stdin.write(`${JSON.stringify(question)}\n`)
    return answer.promise
  }
}

function npmProblems(args: readonly string[], names: Names): string[] | Promise<string[]> {
  const [verb = '', ...rest] = args.filter((arg) => arg !== '--silent' && arg !== '-s')
  if (verb === 'test') return missingFiles(rest, names.root)
  if (verb === 'start') {
    const folder = rest[rest.indexOf('--workspace') + 1] ?? ''
    return missingFiles([join(folder, 'package.json')], names.root)
  }
  if (verb === 'install') {
    const own = rest.filter((name) => /^(?:@tidemark\/|tidemark)/.test(name))
    return own
      .filter((name) => !names.packages.includes(name))
      .map((name) => `there is no package ${name}`)
  }
  if (verb !== 'run') return []
  const [script = '', dashes, ...forScript] = rest
  if (!names.scripts.includes(script)) return [`there is no script ${script}`]
  return script === 'tidemark' && dashes === '--' ? asked({ args: forScript }) : []
}

/** Paths into the repository; those of a reader's project are not known. */
function missingFiles(args: readonly string[], root: string): string[] {
  const paths = args.filter((arg) => /^(?:packages|tests|examples|scripts|bench)\//.test(arg))
  return paths.filter((path) => !existsSync(join(root, path))).map((path) => `there is no ${path}`)
}
