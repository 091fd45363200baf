//! A disk of its own for the server: an ext4 image that is mounted, filled, cut off from power and mounted again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// How long a file may be held after its process has ended.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(10);
const PLACE: &str = "disk-of-";
const MOUNTED: &str = "mounted";

/// What the file system still does when its power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Everything is written down first.
    WithData = 0,
    /// Its own log is written down, data is not.
    WithLog = 1,
    /// Nothing: what was not synced is gone.
    Bare = 2,
}

/// A mounted image; unmounted when it is dropped.
pub struct LoopDisk {
    image: PathBuf,
    place: PathBuf,
    _mount: SharedMount,
    mounted: bool,
}

/// The directory that the image is mounted in, made shared: a process that enters a mount namespace
/// keeps a copy of every mount, and a remaining copy would keep the disk without power mounted.
struct SharedMount(PathBuf);

impl SharedMount {
    fn make(directory: &Path) -> anyhow::Result<SharedMount> {
        let place = directory.join(format!("{PLACE}{}", std::process::id()));
        std::fs::create_dir(&place).context("making a place to mount")?;
        run(Command::new("mount").arg("--bind").arg(&place).arg(&place))?;
        let mount = SharedMount(place);
        run(Command::new("mount").arg("--make-shared").arg(&mount.0))?;
        Ok(mount)
    }
}

impl Drop for SharedMount {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg("-l").arg(&self.0));
    }
}

impl LoopDisk {
    /// Makes the image and mounts it. Fails where that is not allowed.
    pub fn make(directory: &Path, mib: u64) -> anyhow::Result<LoopDisk> {
        sweep();
        let image = directory.join("disk.ext4");
        let mount = SharedMount::make(directory)?;
        let place = mount.0.join(MOUNTED);
        let file = std::fs::File::create(&image).context("making an image")?;
        file.set_len(mib << 20).context("making an image")?;
        std::fs::create_dir(&place).context("making a place to mount")?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1"]).arg(&image))?;
        let mut disk = LoopDisk { image, place, _mount: mount, mounted: false };
        disk.mount()?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.place
    }

    pub fn mount(&mut self) -> anyhow::Result<()> {
        run(Command::new("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.place))?;
        self.mounted = true;
        Ok(())
    }

    pub fn unmount(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        while let Err(error) = run(Command::new("umount").arg(&self.place)) {
            ensure!(began.elapsed() < UNMOUNT_PATIENCE, "{error:#}");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.mounted = false;
        Ok(())
    }

    /// Cuts the power of the file system: from here on every write and sync fails.
    pub fn cut(&self, cut: Cut) -> anyhow::Result<()> {
        // EXT4_IOC_SHUTDOWN, which is _IOR('X', 125, u32).
        let script =
            "open(my $d, '<', $ARGV[0]) or die $!; ioctl($d, 0x8004587d, pack('L', $ARGV[1])) or die $!";
        run(Command::new("perl").args(["-e", script]).arg(&self.place).arg((cut as u32).to_string()))
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        if self.mounted && self.unmount().is_err() {
            // Processes that still use it release it later; the mount point is free at once.
            let _ = run(Command::new("umount").arg("-l").arg(&self.place));
        }
    }
}

/// Unmounts what a torture left that was killed itself.
fn sweep() {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    // The latest first: the disk is mounted below the shared mount.
    for place in mounts.lines().rev().filter_map(|line| line.split(' ').nth(1)) {
        if owner(place).is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists()) {
            println!("unmounting {place}, which an earlier torture has left");
            // Still used by a server of that torture: it stays, which is harmless.
            let _ = run(Command::new("umount").arg(place));
        }
    }
}

/// The process that mounted at this place, if it was a torture.
fn owner(place: &str) -> Option<u32> {
    let mount = place.strip_suffix(MOUNTED).and_then(|mount| mount.strip_suffix('/')).unwrap_or(place);
    let (directory, name) = mount.rsplit_once('/')?;
    directory.contains("/sortie-torture-").then_some(())?;
    name.strip_prefix(PLACE)?.parse().ok()
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("starting {name}"))?;
    if !output.status.success() {
        bail!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_of_tortures_are_swept() {
        assert_eq!(owner("/tmp/sortie-torture-Xy/disk-of-12"), Some(12));
        assert_eq!(owner("/tmp/sortie-torture-Xy/disk-of-12/mounted"), Some(12));
        assert_eq!(owner("/tmp/sortie-torture-Xy/disk"), None);
        assert_eq!(owner("/mnt/disk-of-12"), None);
    }
}
