import { MESSAGE_MUTANTS } from './message-mutants.ts'
import { tryMessageMutant } from './try-message-mutant.ts'

// Breaks one rule of messages after the other in the shipped code, and runs the tests that name it. Exit code 1 when one
// is alive.

let killed = 0
for (const [index, { rule, name }] of MESSAGE_MUTANTS.entries()) {
  const killer = await tryMessageMutant(index)
  if (killer !== undefined) killed++
  console.log(
    killer === undefined ? `ALIVE   ${rule} (${name})` : `killed  ${rule} (${name}) by ${killer}`,
  )
}
console.log(`killed ${killed} of ${MESSAGE_MUTANTS.length}`)
if (killed < MESSAGE_MUTANTS.length) process.exitCode = 1
