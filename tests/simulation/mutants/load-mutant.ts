import { registerHooks } from 'node:module'
import { MUTANTS } from './mutants.ts'
import { mutate } from './mutant.ts'

// Imported before all others by a process that is to run a mutant (`--import`): the sources of the processor get its
// edits on their way to the compiler. No file is touched.

const SOURCES = new URL('../../../packages/processor/src/', import.meta.url).href
const name = process.env['TIDEMARK_MUTANT']
const mutant = MUTANTS.find((one) => one.name === name)
if (mutant === undefined) throw new Error(`no mutant ${JSON.stringify(name)}`)
const files = new Set(mutant.edits.map(({ file }) => file))

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const file = url.startsWith(SOURCES) ? url.slice(SOURCES.length) : ''
    if (!files.has(file) || loaded.source == null) return loaded
    const { source } = loaded
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
    return { ...loaded, source: mutate(file, text, mutant) }
  },
})
