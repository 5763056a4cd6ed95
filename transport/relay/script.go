package relay

// Like the scripts of package start, the scripts of a relay are one text each for every host. Any login shell passes
// them to /bin/sh unchanged: they have no single quotes, backslashes, newlines or exclamation marks.

// keepScript creates a key, and copies files to hosts with it until its standard input ends. Its argument is NONCE. It
// answers with lines:
//
//	fail NONCE WORD      nossh, nodir or nokey
//	addr NONCE TEXT      a line of ip(8) or ifconfig(8); more than one
//	mem NONCE TEXT       the available memory, as in proc_meminfo(5); on Linux
//	key NONCE PUBLICKEY  the last line before it reads orders
//	ID TEXT              a line of a delivery's output; the last is "ended CODE", the exit status of ssh(1)
//
// Its orders are lines, too; deliveries run in parallel:
//
//	cert NAME CERTIFICATE                         of the key, for later deliveries
//	to ID SHA256 USER ADDRESS PORT NAME TYPE KEY  the file with the hash to a host whose key is TYPE KEY
//
// So a delivery costs one line on the link to the relay, and no session; sshd allows ten sessions on one connection
// (sshd_config, MaxSessions). The script ignores the relay's ssh configuration and agent. It removes leftovers that are
// older than a day. Deliveries have a lower priority than the relay's own work (renice).
//
// The default key exchange of OpenSSH 9.0 to 9.8, sntrup761x25519-sha512, takes the client 100 ms of processor time,
// and a login 115; with either of the two that the script requests, a login takes 13. The transferred program is not
// secret.
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
	// The output of a host is bounded, so that no line is too long for the controller.
	`head -c 16384 | while read -r l; do echo $1 $l; done; read -r r <$k/$1.code; echo $1 ended $r; rm -f $k/$1.known $k/$1.code; }; ` +
	`while read -r w i l; do case $w in cert) echo $l >$k/$i-cert.pub;; to) to $i $l & ;; esac; done; rm -rf $k`
