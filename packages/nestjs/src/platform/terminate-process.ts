/** As `kill` does it: Nest shuts the application down, if its shutdown hooks are on, and the process ends by the signal. */
export function terminateProcess(): void {
  process.kill(process.pid, 'SIGTERM')
}
