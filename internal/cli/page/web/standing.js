// Whether the page is kept up to date: the sentence is read aloud when it comes, the count of seconds beside it is not.
import { age, moment } from './words.js';

export class Standing {
  constructor(live, why, since) {
    Object.assign(this, { live, why, since });
  }

  // show takes over what stands in the way, or that nothing does, and what to call a page that is kept up to date.
  show(outage, word) {
    const what = outage?.awaited ? 'Nothing can be shown yet: ' + outage.awaited + ' are awaited since ' : 'What you see is from ';
    const text = outage ? outage.why + '. ' + what + moment(outage.since) + '.' : '';
    this.live.className = outage ? 'lost' : 'live';
    set(this.live, outage ? 'not updated' : word);
    set(this.why, text);
    clearInterval(this.counting);
    const count = () => set(this.since, outage ? 'That was ' + age(Date.now() - new Date(outage.since)) + ' ago.' : '');
    count();
    if (outage) this.counting = setInterval(count, 1000);
  }
}

// set leaves a text alone that is the same: what changes is read aloud.
function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
