import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { InputError } from '../input-error.ts'

/** Access rights of users other than the owner and the group. */
const OTHERS = 0o007

/**
 * The text of a file that holds a secret. Rejects with ERR_INPUT when all users of the machine can read or change it,
 * and as the system does when it cannot be read.
 *
 * @param options.links `refuse` where another user may have put the file
 */
export async function readPrivateFile(
  file: string,
  { links }: { readonly links: 'follow' | 'refuse' },
): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const plain = O_RDONLY | O_NONBLOCK
  const handle = await open(file, links === 'follow' ? plain : plain | O_NOFOLLOW)
  try {
    const about = await handle.stat()
    if (!about.isFile()) throw new InputError('it is not a file')
    const { mode } = about
    // Windows has no such rights, and reports all of them as set.
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
      throw new InputError(
        `it holds a secret, and every user of this machine may use it (mode ${(mode & 0o777).toString(8)}): chmod o= ${file}`,
      )
    }
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}
