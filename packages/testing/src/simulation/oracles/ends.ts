import { errorCode } from '@tidemark/contracts'
import type { MakeOracle } from './oracle.ts'

/**
 * O8, the first half: hosts go on. They end by themselves only where another process took their name, where the lease
 * store did not answer for the whole time that a start may take, or where it has forgotten all leases of the group and nothing
 * else.
 */
export const endsOracle: MakeOracle = (verdict) => {
  const joined = new Set<number>()
  const processes = new Map<string, number>()
  const hasWorked = new Set<number>()
  let hasLostData = false
  return {
    storeChanged({ cause }) {
      if (cause !== 'request' && cause !== 'crash') hasLostData = true
    },
    started({ name }) {
      processes.set(name, (processes.get(name) ?? 0) + 1)
    },
    answered({ operation, member }, reply) {
      const isOk = (reply as { kind?: string } | undefined)?.kind === 'ok'
      if (operation === 'sync:join' && isOk) joined.add(member.id)
    },
    strangerJoined(process) {
      verdict.fail('O8', `${process} was let into a group of another feed`)
    },
    opened({ member }) {
      hasWorked.add(member.id)
    },
    stopped(member, error) {
      if (error === undefined) return
      const code = errorCode(error)
      // The older one may have joined again over the newer one.
      if (code === 'ERR_HOST_REPLACED' && (processes.get(member.name) ?? 0) > 1) return
      if (code === 'ERR_LEASES_VANISHED' && hasLostData) return
      // A group that is lost while a host starts has it wait once more.
      const isStarted = joined.has(member.id) && (hasWorked.has(member.id) || !hasLostData)
      if (code === 'ERR_LEASE_STORE_UNAVAILABLE' && !isStarted) return
      if (code === 'ERR_STORE_UNAVAILABLE' && !isStarted) return
      verdict.fail(
        'O8',
        `${member.process.name} ended by itself: ${code ?? 'an error without a code'}`,
      )
    },
  }
}
