package mead;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local files with two differences: files keep the permissions of the umask, and only symbolic links are looked
 * up as links. Without its native library Hadoop starts chmod and readlink for every file.
 */
public class QuietLocalFs extends ChecksumFs {
    public QuietLocalFs(URI root, Configuration settings) throws IOException, URISyntaxException {
        super(new Unchecked(settings));
    }

    public static class Unchecked extends DelegateToFileSystem {
        public Unchecked(Configuration settings) throws IOException, URISyntaxException {
            super(FsConstants.LOCAL_FS_URI, new Quiet(), settings, "file", false);
        }

        public int getUriDefaultPort() {
            return -1;
        }

        public boolean isValidName(String path) {
            return true;
        }
    }

    public static class Quiet extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) {
        }

        public FileStatus getFileLinkStatus(Path path) throws IOException {
            boolean link = Files.isSymbolicLink(pathToFile(path).toPath());
            return link ? super.getFileLinkStatus(path) : getFileStatus(path);
        }
    }
}

public class QuietLocalFileSystem extends LocalFileSystem {
    public QuietLocalFileSystem() {
        super(new QuietLocalFs.Quiet());
    }
}
