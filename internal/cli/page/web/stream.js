// The stream of changes, a line each. Where it ends, it is asked for again.

export async function follow(apply, tell) {
  for (;;) {
    try {
      await read(apply, tell);
    } catch {
      // told below
    }
    tell('lost');
    await new Promise((resume) => setTimeout(resume, 1000));
  }
}

// patience is how long the server may say nothing, which sends an empty line every 15 s.
const patience = 40_000;

async function read(apply, tell) {
  const response = await fetch('stream', { cache: 'no-store' });
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  let begun = false;
  for (;;) {
    const quiet = setTimeout(() => tell('lost'), patience);
    const { value, done } = await reader.read().finally(() => clearTimeout(quiet));
    if (done) return;
    let rest = value;
    if (!begun && rest.trim()) {
      begun = true;
      performance.mark('begun');
    }
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      parts.push(rest.slice(0, end));
      rest = rest.slice(end + 1);
      const line = parts.join('');
      parts = [];
      if (line) apply(JSON.parse(line));
      tell('live');
    }
    if (rest) parts.push(rest);
  }
}

export async function ask(path) {
  const response = await fetch(path, { cache: 'no-store' });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}
