#pragma once
// The folder of a `save` in an object storage, as save_folder.hpp has it on a disk; save_folder.cpp calls these
// functions for s3:// targets. An object storage cannot give a folder its name in one step. So each part is an upload
// that its task does not complete. A commit completes the uploads of the final parts, and writes _SUCCESS last. Before
// the commit nothing is visible; a kill during the commit leaves some parts without _SUCCESS, and the object
// .saving-ID. Another worker's commit adds the rest. With `overwrite` the commit first removes the old _SUCCESS.
// Thread-safe; calls block on the network.

#include "host/mapreduce/files/save_folder.hpp"

namespace actorhost {

Result<SaveFolder> begin_object_save(const std::string& url, bool overwrite, const std::string& id);
/// `mark`: the content of _SUCCESS.
Status commit_object_save(const SaveFolder& save, const std::vector<SavedPart>& parts, const std::string& mark);
/// Aborts the uploads below the target, also those that an earlier save has left.
void abandon_object_save(const SaveFolder& save);

/// The name of a SavedPart for an upload.
std::string upload_name(const std::string& part, const std::string& upload_id);

}  // namespace actorhost
