import { systemClock, systemRandom } from '@tidemark/contracts'
import { Connections } from '../connection/connections.ts'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { openSchema } from './open-schema.ts'

/** A process that opens, and so perhaps makes, the store at the URL. Prints the store's id. */
const [url = ''] = process.argv.slice(2)
await using connections = new Connections({ url, clock: systemClock, random: systemRandom })
const statements = new Statements('tidemark', { dialect: POSTGRES, clock: 'server' })
const random = systemRandom
const { storeId } = await openSchema({ connections, statements, management: 'auto', random })
process.stdout.write(`${storeId}\n`)
