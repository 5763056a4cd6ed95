package relay

// The scripts of a relay are, as those of package start, one text each for every host, which any login shell hands
// to /bin/sh unchanged: no single quotes, backslashes, newlines or exclamation marks.

// keepScript makes a key, and brings files to hosts with it until its standard input ends. Its argument is NONCE. Its
// answers are lines:
//
//	fail NONCE WORD      nossh, nodir or nokey
//	addr NONCE TEXT      as ip(8) or ifconfig(8) print addresses; more than one
//	mem NONCE TEXT       as proc_meminfo(5) has what is available; on Linux
//	key NONCE PUBLICKEY  the last one before it reads orders
//	ID TEXT              what a delivery prints; that has ended with "ended CODE", the exit status of ssh(1)
//
// Its orders are lines, too; deliveries go on at the same time:
//
//	cert NAME CERTIFICATE                         of the key, for later deliveries
//	to ID SHA256 USER ADDRESS PORT NAME TYPE KEY  the file with the hash to a host whose key is TYPE KEY
//
// So a delivery costs the way to the relay one line, and no session, of which sshd serves ten on one connection
// (sshd_config, MaxSessions). The configuration of the relay has no say, nor has an agent. What others have left there
// a day ago is removed. What the relay is there for comes before deliveries (renice).
//
// A key exchange of OpenSSH 9.0 to 9.8 is sntrup761x25519-sha512 by default, which takes the client 100 ms of
// processor time, and a login 115; with any of the two that are asked for here it is 13. What goes over such a connection
// is no secret.
const keepScript = `set -f; n=$1; IFS=; umask 077; d=${HOME:-/dev/null}/.cache/ccm-push; k=./.relay-$n; unset SSH_AUTH_SOCK; ` +
	`stop() { rm -rf $k; echo fail $n $1; exit 1; }; ` +
	`command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || { echo fail $n nossh; exit 1; }; ` +
	`test -d $d || mkdir -p $d 2>/dev/null; cd -P $d 2>/dev/null && test -O . && mkdir $k || { echo fail $n nodir; exit 1; }; ` +
	`trap stop 1 2 13 15; ` +
	`find . -name . -o -type d -name .relay-?* -mtime +0 -prune -exec rm -rf {} + -o -type d -prune 2>/dev/null; ` +
	`ssh-keygen -q -t ed25519 -N "" -C ccm-push -f $k/key </dev/null >/dev/null 2>&1 || stop nokey; ` +
	`unset IFS; set -- $SSH_CONNECTION; IFS=; echo addr $n inet $3; ` +
	`{ ip -o addr || ifconfig -a; } 2>/dev/null | head -n 500 | while read -r l; do echo addr $n $l; done; ` +
	`{ while read -r l; do case $l in MemAvailable:*) echo mem $n $l;; esac; done </proc/meminfo; } 2>/dev/null; ` +
	`read -r l <$k/key.pub; echo key $n $l; renice -n 10 -p $$ >/dev/null 2>&1; ` +
	`q=; for x in ^mlkem768x25519-sha256,curve25519-sha256 ^curve25519-sha256; do ` +
	`ssh -G -F /dev/null -o KexAlgorithms=$x -- any >/dev/null 2>&1 && q=-oKexAlgorithms=$x && break; done; ` +
	`unset IFS; to() { echo $1 $7 $8 >$k/$1.known; ` +
	`{ ssh $q -F /dev/null -T -a -x -i $k/key -o CertificateFile=$k/$6-cert.pub -o IdentitiesOnly=yes -o BatchMode=yes ` +
	`-o PreferredAuthentications=publickey -o StrictHostKeyChecking=yes -o UserKnownHostsFile=$k/$1.known -o GlobalKnownHostsFile=/dev/null ` +
	`-o HostKeyAlias=$1 -o ClearAllForwardings=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3 ` +
	`-o LogLevel=ERROR -p $5 -l $3 -- $4 take <./$2.gz 2>&1; echo $? >$k/$1.code; } | ` +
	// What a host prints has bounds, so that it is no line which is too long for the controller.
	`head -c 16384 | while read -r l; do echo $1 $l; done; read -r r <$k/$1.code; echo $1 ended $r; rm -f $k/$1.known $k/$1.code; }; ` +
	`while read -r w i l; do case $w in cert) echo $l >$k/$i-cert.pub;; to) to $i $l & ;; esac; done; rm -rf $k`
