package relay

// The scripts of a relay are, as those of package start, one text each for every host, which any login shell hands
// to /bin/sh unchanged: no single quotes, backslashes, newlines or exclamation marks.

// keepScript makes a key and keeps it until its standard input ends. Its argument is NONCE. Its answers are
// lines:
//
//	fail NONCE WORD      nossh, nodir or nokey
//	addr NONCE TEXT      as ip(8) or ifconfig(8) print addresses; more than one
//	key NONCE PUBLICKEY  the last one
//
// What others have left there a day ago is removed.
const keepScript = `set -f; n=$1; IFS=; umask 077; d=${HOME:-/dev/null}/.cache/ccm-push; k=./.relay-$n; ` +
	`stop() { rm -rf $k; echo fail $n $1; exit 1; }; ` +
	`command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || { echo fail $n nossh; exit 1; }; ` +
	`test -d $d || mkdir -p $d 2>/dev/null; cd -P $d 2>/dev/null && test -O . && mkdir $k || { echo fail $n nodir; exit 1; }; ` +
	`trap stop 1 2 13 15; ` +
	`find . -name . -o -type d -name .relay-?* -mtime +0 -prune -exec rm -rf {} + -o -type d -prune 2>/dev/null; ` +
	`ssh-keygen -q -t ed25519 -N "" -C ccm-push -f $k/key </dev/null >/dev/null 2>&1 || stop nokey; ` +
	`unset IFS; set -- $SSH_CONNECTION; IFS=; echo addr $n inet $3; ` +
	`{ ip -o addr || ifconfig -a; } 2>/dev/null | head -n 500 | while read -r l; do echo addr $n $l; done; ` +
	`read -r l <$k/key.pub; echo key $n $l; ` +
	`while read -r l; do :; done; rm -rf $k`

// deliverScript brings a file to a host with the key. Its arguments are NONCE ID SHA256 USER ADDRESS PORT: SHA256
// is that of the file, ID must differ for every delivery. On standard input it reads the certificate of the
// key, and a line of known_hosts which knows the host as ID. What the host says is printed.
//
// The configuration of the relay has no say, nor has an agent.
const deliverScript = `set -f; n=$1; i=$2; g=$3; IFS=; umask 077; k=.relay-$n; unset SSH_AUTH_SOCK; ` +
	`cd -P ${HOME:-/dev/null}/.cache/ccm-push && test -O . && test -O $k || exit 1; ` +
	`read -r c; read -r l; echo $c >$k/$i-cert.pub; echo $l >$k/$i.known; ` +
	`exec ssh -F /dev/null -T -a -x -i $k/key -o CertificateFile=$k/$i-cert.pub -o IdentitiesOnly=yes -o BatchMode=yes ` +
	`-o PreferredAuthentications=publickey -o StrictHostKeyChecking=yes -o UserKnownHostsFile=$k/$i.known -o GlobalKnownHostsFile=/dev/null ` +
	`-o HostKeyAlias=$i -o ClearAllForwardings=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3 ` +
	`-o LogLevel=ERROR -p $6 -l $4 -- $5 take <./$g.gz`
