import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '@tidemark/contracts'
import { errnoOf } from '../folder/link-into-place.ts'
import { SocketPresence } from './socket-presence.ts'

/* Begins to watch a process while it has no descriptor left, gets some later, and tells its parent when that process is gone. */

const [, , folder = '', id = ''] = process.argv
const presence = new SocketPresence(folder, { access: 'owner', random: systemRandom })
const announced = await presence.announce()
const opened = openAll()
announced?.watch(id, () => process.send?.('gone'))
await sleep(200)
for (const descriptor of opened) closeSync(descriptor)
process.on('disconnect', () => process.exit())

/** Opens files until the system says that there is no descriptor left. */
function openAll(): readonly number[] {
  const descriptors: number[] = []
  for (;;) {
    try {
      descriptors.push(openSync('/dev/null', 'r'))
    } catch (error) {
      if (errnoOf(error) !== 'EMFILE') throw error
      return descriptors
    }
  }
}
