package gather

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/shirou/gopsutil/v4/host"
)

// hostInfo returns the host information of gopsutil, without the process that gopsutil starts on a Debian with
// lsb_release: it passes no option to that program, so the output is useless (gopsutil 4.26, host_linux.go,
// getlsbStruct).
func hostInfo(ctx context.Context) (*host.InfoStat, error) {
	version, ok := debianVersion()
	if !ok {
		return host.InfoWithContext(ctx)
	}
	info := &host.InfoStat{OS: "linux", Platform: "debian", PlatformFamily: "debian", PlatformVersion: version}
	var errs [7]error
	info.Hostname, errs[0] = os.Hostname()
	info.KernelVersion, errs[1] = host.KernelVersionWithContext(ctx)
	info.KernelArch, errs[2] = host.KernelArch()
	info.VirtualizationSystem, info.VirtualizationRole, errs[3] = host.VirtualizationWithContext(ctx)
	info.BootTime, errs[4] = host.BootTimeWithContext(ctx)
	info.Uptime, errs[5] = host.UptimeWithContext(ctx)
	info.HostID, errs[6] = host.HostIDWithContext(ctx)
	info.Procs = processes()
	return info, errors.Join(errs[:]...)
}

// debianVersion returns the first line of /etc/debian_version. ok is false if the platform may need another method, or
// if gopsutil starts no process anyway.
func debianVersion() (version string, ok bool) {
	for _, name := range []string{
		"/etc/lsb-release", "/usr/bin/raspi-config",
		"/etc/oracle-release", "/etc/enterprise-release", "/etc/slackware-version",
	} {
		if exists(name) {
			return "", false
		}
	}
	if os.Getenv("HOST_ETC") != "" || os.Getenv("HOST_PROC") != "" || !exists("/usr/bin/lsb_release") {
		return "", false
	}
	text, err := os.ReadFile("/etc/debian_version")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line), err == nil && len(line) > 0
}

// processes returns the number of processes in /proc.
func processes() (n uint64) {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // an error leaves the names read so far
	for _, name := range names {
		if '1' <= name[0] && name[0] <= '9' {
			n++
		}
	}
	return n
}
