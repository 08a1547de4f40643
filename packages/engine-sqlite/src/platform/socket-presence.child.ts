import { systemRandom } from '@tidemark/contracts'
import { SocketPresence } from './socket-presence.ts'

/* Announces itself in a folder and tells its parent the id. Closes when it is told to, and stays; ends with its parent. */

const [, , folder = ''] = process.argv
const presence = new SocketPresence(folder, { access: 'owner', random: systemRandom })
const announced = await presence.announce()
process.on('message', () => {
  void announced?.close().then(() => process.send?.('closed'))
})
process.on('disconnect', () => process.exit())
process.send?.(announced?.id)
