// Receives messages by AMQP 1.0 with the published client library rhea, and prints each as a line of JSON.
//
//     node receive.js PORT ADDRESS COUNT

const rhea = require('rhea');

const [port, address, count] = process.argv.slice(2);
let left = Number(count);

function plain(value) {
  if (value instanceof Date) return value.getTime();
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
  }
  return value;
}

rhea.on('message', (context) => {
  const { body, ...rest } = context.message;
  console.log(JSON.stringify({ section: body.typecode, body: plain(body.content ?? body), ...plain(rest) }));
  left -= 1;
  if (left === 0) context.connection.close();
});
for (const end of ['connection_error', 'session_error', 'receiver_error', 'disconnected']) {
  rhea.on(end, (context) => {
    console.error(end, context.error ?? context.receiver?.error ?? context.session?.error);
    process.exit(1);
  });
}
const connection = rhea.connect({ host: '127.0.0.1', port: Number(port), username: 'guest', password: 'guest' });
connection.open_receiver({ source: address, credit_window: 100 });
