"""What each field of a Telegram message is to us: the one table.

A field speaks (words, a file, something that can be told in a sentence), cannot be read yet, is a
service note (somebody joined, a title changed), or is the frame around the message. What stands
nowhere here came with a newer server than we know: it is taken for a message that we cannot read,
so nobody is left without an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from telegram import Message

Role = Literal["words", "file", "told", "unreadable", "service", "frame"]

BROKEN = "_broken"
"""Follows the name of a field whose value the library cannot read (`lenient`)."""

BLANK = frozenset({"text", "caption"})
"""Where there is nothing to read in them, nothing was said."""
WORDS = "text caption rich_message"
FILES = "photo document voice audio"
TOLD = "venue location contact poll dice sticker checklist gift unique_gift invoice"
UNREADABLE = {
    "video": "unreadable_video",
    "video_note": "unreadable_video",
    "animation": "unreadable_animation",  # before "document": Telegram sends both for one animation
    "document": "unreadable_document",
    "photo": "unreadable_other",
    "voice": "unreadable_other",
    "audio": "unreadable_other",
    "story": "unreadable_other",
    "game": "unreadable_other",
    "paid_media": "unreadable_other",
    "live_photo": "unreadable_other",
    "giveaway": "unreadable_other",
    "giveaway_winners": "unreadable_other",
}
"""The sentence for what we cannot read; of a file, where it is of no kind that we can open."""
SERVICE = """
new_chat_members left_chat_member chat_owner_left chat_owner_changed new_chat_title new_chat_photo
delete_chat_photo group_chat_created supergroup_chat_created channel_chat_created
message_auto_delete_timer_changed migrate_to_chat_id migrate_from_chat_id pinned_message
successful_payment refunded_payment users_shared user_shared chat_shared gift_upgrade_sent
connected_website write_access_allowed passport_data proximity_alert_triggered boost_added
chat_background_set checklist_tasks_done checklist_tasks_added direct_message_price_changed
forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened
general_forum_topic_hidden general_forum_topic_unhidden giveaway_created giveaway_completed
managed_bot_created paid_message_price_changed poll_option_added poll_option_deleted
suggested_post_approved suggested_post_approval_failed suggested_post_declined suggested_post_paid
suggested_post_refunded video_chat_scheduled video_chat_started video_chat_ended
video_chat_participants_invited voice_chat_scheduled voice_chat_started voice_chat_ended
voice_chat_participants_invited web_app_data community_chat_added community_chat_joined
community_chat_removed
"""
FRAME = """
message_id date chat message_thread_id direct_messages_topic from from_user sender_chat
sender_boost_count sender_business_bot sender_tag guest_query_id guest_bot_caller_user
guest_bot_caller_chat business_connection_id forward_origin forward_date forward_from
forward_from_chat forward_from_message_id forward_sender_name forward_signature is_topic_message
is_automatic_forward reply_to_message external_reply quote reply_to_story
reply_to_checklist_task_id reply_to_poll_option_id via_bot edit_date has_protected_content
is_from_offline is_paid_post media_group_id author_signature paid_star_count entities
caption_entities link_preview_options suggested_post_info effect_id show_caption_above_media
has_media_spoiler reply_markup receiver_user ephemeral_message_id
"""

_ROLES: tuple[tuple[Role, str], ...] = (
    ("frame", FRAME),
    ("service", SERVICE),
    ("unreadable", " ".join(UNREADABLE)),
    ("told", TOLD),
    ("file", FILES),
    ("words", WORDS),
)
FIELDS: Mapping[str, Role] = MappingProxyType(
    {field: role for role, fields in _ROLES for field in fields.split()}
)


def fields_of(message: Message) -> Iterator[tuple[str, Role]]:
    """The fields that the message has, and what they are; one that nobody knows is unreadable."""
    for field in FIELDS:
        if getattr(message, field, None):
            yield field, FIELDS[field]
    for name, value in message.api_kwargs.items():
        if value is not None and value is not False:
            field = name.removesuffix(BROKEN)
            yield field, FIELDS.get(field, "unreadable")


def unreadable_key(message: Message, *, has_words: bool) -> str | None:
    """Names the sentence for what cannot be read in the message; None where that is nothing.

    A service note says nothing to us, whatever else stands in it. Beside words a field that nobody
    knows is passed over: it may be part of a newer frame.
    """
    found = dict(fields_of(message))
    if "service" in found.values():
        return None
    if known := next((UNREADABLE[field] for field in UNREADABLE if field in found), None):
        return known
    is_said = any(role != "frame" and field not in BLANK for field, role in found.items())
    return "unreadable_other" if is_said and not has_words else None
