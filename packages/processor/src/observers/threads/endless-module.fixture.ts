// Something that keeps the thread alive, and never comes.
await new Promise(() => setInterval(() => {}, 1_000))

export {}
