package gather

import (
	"context"
	"errors"
	"os"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/ccm-push/ccm-push/facts"
)

// collector returns the function that collects the facts of a name, in CCM's structure and with its JSON names.
func collector(name string) (collect func(context.Context) (any, error), known bool) {
	switch name {
	case facts.Host:
		return hostFacts, true
	case facts.Network:
		return networkFacts, true
	case facts.Partition:
		return partitionFacts, true
	case facts.CPU:
		return cpuFacts, true
	case facts.Memory:
		return memoryFacts, true
	case facts.Identity:
		return identityFacts, true
	}
	return nil, false
}

type hostTree struct {
	Info    *host.InfoStat `json:"info"`
	Release *releaseTree   `json:"release,omitempty"`
	// ServiceManager is systemd if systemd manages the services of the host, otherwise empty.
	ServiceManager string `json:"service_manager"`
}

func hostFacts(ctx context.Context) (any, error) {
	info, err := hostInfo(ctx)
	is, releaseErr := release("/etc/os-release", "/usr/lib/os-release")
	tree := hostTree{Info: info, Release: is}
	if exists("/run/systemd/system") { // sd_booted(3)
		tree.ServiceManager = "systemd"
	}
	return tree, errors.Join(err, releaseErr)
}

type partitionTree struct {
	Partitions []disk.PartitionStat `json:"partitions"`
	Usage      []*disk.UsageStat    `json:"usage"`
}

// partitionFacts lists physical partitions. The usage of a partition is omitted if access to it is denied.
func partitionFacts(ctx context.Context) (any, error) {
	found, err := disk.PartitionsWithContext(ctx, false)
	tree := partitionTree{Partitions: append([]disk.PartitionStat{}, found...), Usage: []*disk.UsageStat{}}
	for _, p := range found {
		if usage, err := disk.UsageWithContext(ctx, p.Mountpoint); err == nil {
			tree.Usage = append(tree.Usage, usage)
		}
	}
	return tree, err
}

type cpuTree struct {
	Info []cpu.InfoStat `json:"info"`
}

func cpuFacts(ctx context.Context) (any, error) {
	info, err := cpu.InfoWithContext(ctx)
	return cpuTree{append([]cpu.InfoStat{}, info...)}, err
}

type memoryTree struct {
	Virtual *mem.VirtualMemoryStat `json:"virtual"`
	Swap    swapTree               `json:"swap"`
}

type swapTree struct {
	Info    *mem.SwapMemoryStat `json:"info"`
	Devices []*mem.SwapDevice   `json:"devices"`
}

// memoryFacts omits swap if the system does not report it.
func memoryFacts(ctx context.Context) (any, error) {
	virtual, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, err
	}
	tree := memoryTree{Virtual: virtual}
	if info, err := mem.SwapMemoryWithContext(ctx); err == nil {
		tree.Swap.Info = info
	}
	if devices, err := mem.SwapDevicesWithContext(ctx); err == nil {
		tree.Swap.Devices = devices
	}
	return tree, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
